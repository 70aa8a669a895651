"""Connections that a program leaves open are closed when it ends: else what it published last would end with it.

Some of that may still be gathered, and a socket that is let go with answers unread takes along what was sent.
"""

import atexit
import contextlib
import weakref
from typing import TYPE_CHECKING, Final

from pybroker.client.errors import ClientError

if TYPE_CHECKING:
    from pybroker.client.connection import Connection

_opened: Final["weakref.WeakSet[Connection]"] = weakref.WeakSet()


def close_at_exit(connection: "Connection") -> None:
    """See to it that a connection is closed when the interpreter ends, if nobody does before."""
    _opened.add(connection)


@atexit.register
def _close_all() -> None:
    for connection in tuple(_opened):
        with contextlib.suppress(ClientError, OSError, RuntimeError):
            connection.close()
