"""Commands that work on files beside the node: a process of their own does them, and answers as a node would.

The node holds its log still meanwhile, for as long as we stay connected to it. Knows no files itself.
"""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from pybrokerctl.client import Connection
from pybrokerctl.locate import Target

TOOL: Final = "pybroker.daemon.offline_tool"
HOLD: Final = "hold_log"
# Unfinished work is undone in this time.
END_S: Final = 30


@contextlib.contextmanager
def connect(
    node: Target | None, timeout_s: float | None, check: Callable[[Connection], object]
) -> Iterator[Connection]:
    """Yield a conversation with the tool; files that the `node`, if any, holds for it are released at the end.

    `check` looks at the conversation with the node before. Raises Refused, Unreachable, TimedOut.
    """
    with contextlib.ExitStack() as until_the_end:
        held: dict[str, Any] | None = None
        name = "(stopped)"
        if node is not None:
            holder = until_the_end.enter_context(Connection(node.path, timeout_s))
            check(holder)
            held, name = holder.hold(HOLD), holder.node
            until_the_end.callback(holder.leave)
            threading.Thread(target=holder.drain, daemon=True).start()
        ours, theirs = socket.socketpair()
        words = [sys.executable, "-m", TOOL, str(theirs.fileno()), name]
        tool = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])  # noqa: S603 - our own
        until_the_end.callback(tool.wait, END_S)
        theirs.close()
        yield until_the_end.enter_context(Connection(Path(TOOL), timeout_s, ours, held))
