"""Which control socket is meant: an option, the environment, the node's name, or the one node that runs here."""

import os
import socket
from pathlib import Path
from typing import Final, NamedTuple

from pybroker import paths
from pybroker.control.spec import Refused
from pybrokerctl import exit_codes

# rabbitmqctl's default node is rabbit@HOST; runbooks say so with -n.
RABBIT: Final = "rabbit"
UNREACHABLE: Final = """\
Error: unable to perform an operation on node '{node}'. Please see diagnostics information and suggestions below.

Most common reasons for this are:

 * Target node is not running
 * Target node has another control socket (see --socket and {variable})
 * You are neither root nor the user that the node runs as

DIAGNOSTICS
===========

attempted to contact: [{node}]

{node}:
  * control socket {path}: {why}
  * other nodes on this host: {others}
  * suggestion: {suggestion}
"""


class Target(NamedTuple):
    """A control socket to try, and the node expected there."""

    path: Path
    node: str


def locate(node: str | None, socket_path: str | None) -> Target:
    """Return what to connect to for `-n` and `--socket`. Raises Refused when that cannot be told."""
    given = socket_path or os.environ.get(paths.SOCKET_VARIABLE)
    if given:
        path = Path(given)
        # A socket of another form of name tells nothing about the node's.
        return Target(path, path.stem if "@" in path.stem else node or paths.default_node_name())
    if node is None:
        return _running_here()
    name, _, host = node.partition("@")
    here = socket.gethostname()
    if host and host not in {here, here.partition(".")[0], "localhost"}:
        text = f"node '{node}' is on another host; pybrokerctl reaches the nodes of {here} only"
        raise Refused(text, exit_codes.UNAVAILABLE)
    full = f"{name}@{host or here.partition('.')[0]}"
    target = Target(paths.control_socket(full), full)
    running = {path.stem: path for path in paths.running_sockets()}
    if full in running:
        return Target(running[full], full)
    same = [other for other in running if is_same_node(node, other)]
    if len(same) == 1:
        return Target(running[same[0]], same[0])
    if name == RABBIT:
        return _running_here()
    return target


def is_same_node(name: str, other: str) -> bool:
    """Tell whether two forms of a name mean one node: its host may be left out, be localhost, or lack its domain."""
    left, _, left_host = name.partition("@")
    right, _, right_host = other.partition("@")
    hosts = {host.partition(".")[0] for host in (left_host, right_host)} - {"", "localhost"}
    return left == right and len(hosts) < 2


def is_rabbit(name: str) -> bool:
    """Tell whether a name is that of rabbitmqctl's default node, which means whatever node is here."""
    return name.partition("@")[0] == RABBIT


def _running_here() -> Target:
    """Return the default node if its socket is there, else the only node that runs here."""
    name = paths.default_node_name()
    usual = Target(paths.control_socket(name), name)
    if usual.path.exists():
        return usual
    running = paths.running_sockets()
    if len(running) > 1:
        names = ", ".join(path.stem for path in running)
        raise Refused(f"several nodes run here: {names}; choose one with -n", exit_codes.USAGE)
    return Target(running[0], running[0].stem) if running else usual


def explain_unreachable(node: str, path: Path, why: str) -> str:
    """Return rabbitmqctl's text for a node that does not answer, with what we know instead of epmd's view."""
    others = [other.stem for other in paths.running_sockets() if other != path]
    suggestion = f"use -n {others[0]}" if others else "start the node: pybroker"
    if "ermission" in why:
        suggestion = f"try again as the node's user: sudo -u {_owner(path)} pybrokerctl ..."
    return UNREACHABLE.format(
        node=node,
        variable=paths.SOCKET_VARIABLE,
        path=path,
        why=why.lower(),
        others=", ".join(others) or f"none with a socket in {' or '.join(map(str, paths.socket_folders()))}",
        suggestion=suggestion,
    )


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (OSError, KeyError):
        return "root"
