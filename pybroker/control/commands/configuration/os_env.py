"""os_env: the environment variables that the node was started with and that mean something to it."""

import os
from typing import Any

from pybroker.control.spec import Command, NoArgs, Node

PREFIXES = ("PYBROKER_", "XDG_", "PYTHON", "GEVENT_", "MALLOC_")
# systemd's folders and notifications (paths.py, daemon/system/systemd.py).
NAMES = frozenset(
    {
        "CONFIGURATION_DIRECTORY",
        "HOME",
        "LANG",
        "LOGS_DIRECTORY",
        "NOTIFY_SOCKET",
        "RUNTIME_DIRECTORY",
        "STATE_DIRECTORY",
        "TZ",
        "WATCHDOG_USEC",
    }
)


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the variables in the order of their names."""
    del args
    found = {key: os.environ[key] for key in sorted(os.environ) if key in NAMES or key.startswith(PREFIXES)}
    text = "\n".join(f"{key}={value}" for key, value in found.items())
    return node.result(text or f"Node {node.name} reported no relevant environment variables.", variables=found)


COMMAND = Command(
    name="os_env",
    section="Configuration",
    summary="Lists the environment variables that the node uses",
    args=NoArgs,
    effect="read",
    access="administrator",
    run=run,
    banner="Listing environment variables relevant to node {node}...",
    app="any",
)
