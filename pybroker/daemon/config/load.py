"""All files of the configuration, and the options, as one Config: at the start, and at each reload.

The files are the configuration file and those of the folder `conf.d` beside it. A later file overrides those before.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pybroker import paths
from pybroker.daemon.config import stream_options
from pybroker.daemon.config.conf_file import Assignment, read_conf_file
from pybroker.daemon.config.config import Config, ConfigError, configure
from pybroker.daemon.config.keys import replaces
from pybroker.daemon.config.options import Options, overrule
from pybroker.daemon.start_error import refused_by_system

FOLDER: Final = "conf.d"
SUFFIX: Final = ".conf"


def load(options: Options) -> Config:
    """Return the configuration that files and options make.

    Raises:
        StartError: a file cannot be read, or something in one or in the options is wrong.

    """
    parsed = {path: read_conf_file(path) for path in _files(options)}
    typed = options.assignments()
    try:
        # The options alone first: what was typed wrong is a usage error, whatever the files say.
        configure(typed)
    except ConfigError as error:
        raise ConfigError(error.problems, os.EX_USAGE) from None
    in_files, overridden = merge(assignments for assignments, _ in parsed.values())
    in_force, replaced = overrule(in_files, typed)
    implied = options.implied()
    if not any(each.key.startswith(stream_options.TCP) for each in in_force):
        implied += options.stream_listeners()
    config = configure(implied + in_force, [each for _, problems in parsed.values() for each in problems])
    config.options, config.overridden = options, (*overridden, *replaced)
    config.settings.config_files = tuple(str(path.absolute()) for path in parsed)
    return config


def _files(options: Options) -> Iterator[Path]:
    """Yield the configuration file, if it is there or named, and those of `conf.d` by name. Raises StartError."""
    path = Path(options.config).expanduser() if options.config else paths.config_file()
    folder = path.parent / FOLDER
    try:
        is_there = bool(options.config) or path.exists()
    except OSError as error:
        raise refused_by_system(f"cannot read the configuration file {path}", error, os.EX_NOINPUT) from None
    if is_there:
        yield path
    try:
        inside = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise refused_by_system(f"cannot read the configuration folder {folder}", error, os.EX_NOINPUT) from None
    yield from inside


def merge(files: Iterable[list[Assignment]]) -> tuple[list[Assignment], list[Assignment]]:
    """Return the assignments of several files that hold, and those that a later file has replaced."""
    kept: list[Assignment] = []
    overridden: list[Assignment] = []
    for assignments in files:
        keys = [each.key for each in assignments]
        ended = [each for each in kept if any(replaces(key, each.key) for key in keys)]
        overridden += ended
        kept = [each for each in kept if each not in ended] + assignments
    return kept, overridden
