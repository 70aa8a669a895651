"""Build the modules in C, and the module by which Spark finds the connector: pyproject.toml has no way to say either.

The C modules are built where there is a compiler and Python's headers; without them pybroker runs in pure Python. They
use the stable ABI, so one wheel serves Python 3.11 and all later ones. Wheels for Linux on x86-64 and arm64:

    sh etc/wheels.sh

Spark looks for top-level modules named pyspark_*, in the folders of sys.path only: an editable installation's own
finder it does not ask. So the module is copied beside the packages, in an editable installation too.
"""

from pathlib import Path

from setuptools import Command, Extension, setup
from setuptools.command.build import build

DISCOVERY = "pybroker/spark/discovery.py"
# Modules in C, of which each has a twin in Python.
TWINS = {
    "pybroker.wire._codec": "pybroker/wire/_codec.c",
    "pybroker.wire.amqp10._contents": "pybroker/wire/amqp10/_contents.c",
    "pybroker.wire.stream._entries": "pybroker/wire/stream/_entries.c",
    "pybroker.spark.parse._deliveries": "pybroker/spark/parse/_deliveries.c",
}
FOUND_AS = "pyspark_pybroker.py"


class BuildDiscovery(Command):
    """Install pybroker/spark/discovery.py as the top-level module pyspark_pybroker."""

    description = "make Spark find the connector"
    user_options = ()

    def initialize_options(self) -> None:
        """Begin with what setuptools sets later."""
        self.build_lib = None
        self.editable_mode = False

    def finalize_options(self) -> None:
        """Build where everything else is built."""
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self) -> None:
        """Copy the module; what an editable wheel contains is gathered where `install` would put it."""
        place = self.get_finalized_command("install").install_purelib if self.editable_mode else self.build_lib
        self.mkpath(place)
        self.copy_file(DISCOVERY, str(Path(place, FOUND_AS)))

    def get_source_files(self) -> list[str]:
        """Return what a source distribution must contain."""
        return [DISCOVERY]

    def get_outputs(self) -> list[str]:
        """Return what was built."""
        return [str(Path(self.build_lib, FOUND_AS))]

    def get_output_mapping(self) -> dict[str, str]:
        """Return which source each built file is made of."""
        return {str(Path(self.build_lib, FOUND_AS)): DISCOVERY}


class Build(build):
    """A build with the discovery module."""

    sub_commands = (*build.sub_commands, ("build_discovery", None))


setup(
    cmdclass={"build": Build, "build_discovery": BuildDiscovery},
    ext_modules=[
        Extension(name, [source], extra_compile_args=["-std=c11"], py_limited_api=True, optional=True)
        for name, source in TWINS.items()
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
