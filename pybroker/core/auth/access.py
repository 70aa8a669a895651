"""Names, and who may use them: the checks that every operation on queues and exchanges shares.

They know permissions and exclusive owners, and not what is done afterwards. Texts are RabbitMQ's.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.auth.permissions import READ, WRITE, check
from pybroker.core.reply_text import describe, field_type
from pybroker.errors import AccessRefused, NotFound, PreconditionFailed, ResourceLocked

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.channel.state import SessionState
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.wire.table import Table

RESERVED: Final = "amq."

_NO_LINE_ENDS: Final = str.maketrans("", "", "\r\n")


def strip_line_ends(name: str) -> str:
    """Return a name without CR and LF, which RabbitMQ takes out of queue and exchange names in silence."""
    return name.translate(_NO_LINE_ENDS) if "\n" in name or "\r" in name else name


def find_queue(vhost: "VHost", name: str) -> "Queue":
    """Return a queue. Raises NotFound (404): `no queue 'q' in vhost '/'`."""
    queue = vhost.queues.get(name)
    if queue is None:
        raise not_found("queue", name, vhost)
    return queue


def check_exclusive_access(queue: "Queue", session: "SessionState | None") -> None:
    """Refuse an exclusive queue to all but its owner. Raises ResourceLocked (405)."""
    if queue.owner is not None and queue.owner is not session:
        raise resource_locked(queue)


def find_accessible_queue(vhost: "VHost", session: "SessionState | None", name: str) -> "Queue":
    """Return a queue that this session may use. Raises NotFound (404), ResourceLocked (405).

    By the very name that permissions were asked for: were line ends taken out in between, `^[^s]` would open `secret`.
    """
    queue = find_queue(vhost, name)
    check_exclusive_access(queue, session)
    return queue


def resource_locked(queue: "Queue") -> ResourceLocked:
    """Return the 405 of an exclusive queue of somebody else."""
    return ResourceLocked(
        f"cannot obtain exclusive access to locked {describe('queue', queue.name, queue.vhost.name)}. It could be "
        "originally declared on another connection or the exclusive property value does not match that of the original "
        "declaration."
    )


def not_found(kind: str, name: str, vhost: "VHost") -> NotFound:
    """Return the 404 of a queue or exchange."""
    return NotFound(f"no {describe(kind, name, vhost.name)}")


def check_not_default(name: str) -> None:
    """Refuse the default exchange, with which nothing can be done but publish. Raises AccessRefused (403)."""
    if not name:
        raise AccessRefused("operation not permitted on the default exchange")


def check_reserved(kind: str, name: str) -> None:
    """Refuse to make what only the server may make."""
    if name.startswith(RESERVED):
        text = f"{kind} name '{name}' contains reserved prefix 'amq.*'"
        raise AccessRefused(text)


def check_link(vhost: "VHost", user: "User | None", kind: str, name: str, arguments: "Table", key: str) -> None:
    """Check the exchange that a new exchange or queue hands messages on to: a string, and permissions at both."""
    if key not in arguments:
        return
    type_name = field_type(arguments, key)
    target = arguments[key]
    if type_name != "longstr" or not isinstance(target, str):
        text = f"invalid type '{type_name}' for arg '{key}' in {describe(kind, name, vhost.name)}"
        raise PreconditionFailed(text)
    check(user, vhost.name, READ, kind, name)
    check(user, vhost.name, WRITE, "exchange", target)
