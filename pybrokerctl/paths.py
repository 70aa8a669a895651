"""Folders of telemetry and warehouse: as given, else beside the data of the chosen node, if it answers."""

import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from pybroker import paths
from pybroker.control.spec import Refused
from pybrokerctl.client import Connection, TimedOut, Unreachable
from pybrokerctl.exit_codes import UNAVAILABLE
from pybrokerctl.locate import is_rabbit, is_same_node, locate
from pybrokerctl.options import Options

# It is the folder of a node that answers at once, or the usual one.
ANSWER_S_MAX: Final = 5.0
FOLDERS: Final = ("warehouse", "telemetry")


class Places(NamedTuple):
    """The arguments with folders, and what is to be said about these; nothing, if they are what one expects."""

    args: Any
    note: str = ""


def fill(args: Any, options: Options) -> Places:
    """Return the arguments with the folders that are missing. Raises Refused for a node that cannot be meant."""
    missing = [name for name in FOLDERS if name in args._fields and getattr(args, name) is None]
    if not missing:
        return Places(args)
    named = bool(options.node or options.socket or os.environ.get(paths.SOCKET_VARIABLE))
    node, folder, why = _ask(options, named=named)
    usual = paths.data_dir()
    if folder is None:
        return Places(args, f"{why}; using {' and '.join(missing)} in {usual}" if named else "")
    if folder == usual:
        return Places(args)
    note = f"using {' and '.join(missing)} of node {node} in {folder}"
    return Places(args._replace(**{name: str(folder / name) for name in missing}), note)


def _ask(options: Options, *, named: bool) -> tuple[str, Path | None, str]:
    """Return the node, its data folder, and if there is none why not. Raises Refused."""
    try:
        target = locate(options.node, options.socket)
    except Refused:
        if named:
            raise
        return "", None, ""
    try:
        with Connection(target.path, ANSWER_S_MAX) as connection:
            if options.node and not is_same_node(options.node, connection.node) and not is_rabbit(options.node):
                raise Refused(f"the node at {connection.path} is {connection.node}, not {options.node}", UNAVAILABLE)
            folder = connection.ask("status", {})[1].get("data_directory")
            return connection.node, Path(folder) if folder else None, f"node {connection.node} has no data folder"
    except (Unreachable, TimedOut) as error:
        why = error.why.lower() if isinstance(error, Unreachable) else "timed out"
        return target.node, None, f"node {target.node} does not respond ({why})"
