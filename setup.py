"""The C codec, built where there is a compiler and Python's headers; without it pybroker runs in pure Python.

It uses the stable ABI, so one wheel serves Python 3.11 and all later ones. Wheels for Linux on x86-64 and arm64:

    sh etc/wheels.sh
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "pybroker.wire._codec",
            ["pybroker/wire/_codec.c"],
            extra_compile_args=["-std=c11"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
