"""Finding streams for a user, in RabbitMQ's order: first whether it may, then whether there is one."""

from typing import TYPE_CHECKING, Final

from pybroker.core.auth import permissions
from pybroker.core.auth.permissions import READ, WRITE
from pybroker.core.stream.stream import Stream
from pybroker.errors import PreconditionFailed
from pybroker.stream.refused import Refused, Unready
from pybroker.wire.stream.codes import Code

if TYPE_CHECKING:
    from pybroker.core.stream.tracking import Tracking
    from pybroker.stream.session import StreamSession

# Of streams, exchanges and routing keys: a shortstr (AMQP §4.2.5.3). Of publishers and consumers as well.
NAME_OCTETS_MAX: Final = 255


def may(session: "StreamSession", permission: str, name: str) -> bool:
    """Tell whether the session's user has a permission for a stream, or an exchange."""
    assert session.user is not None
    assert session.vhost is not None
    return permissions.granted(session.user, session.vhost.name, permission, name)


def may_use(session: "StreamSession", name: str) -> bool:
    """Tell whether it may read or write."""
    return may(session, READ, name) or may(session, WRITE, name)


def check(session: "StreamSession", permission: str, name: str, kind: str = "queue") -> None:
    """Refuse what the user may not do. Raises AccessRefused (403), whose text is in the log."""
    assert session.vhost is not None
    permissions.check(session.user, session.vhost.name, permission, kind, name)


def check_name(name: str) -> None:
    """Refuse a name that nothing new may have. Raises PreconditionFailed (406), whose text is in the log."""
    if not name:
        raise PreconditionFailed("the name is empty")
    if name.startswith("amq."):
        raise PreconditionFailed(f"names with 'amq.' in front are reserved: {name!r:.300}")
    # Differs from RabbitMQ: it takes longer names, which AMQP 0-9-1 has no room for.
    if len(name.encode()) > NAME_OCTETS_MAX:
        raise PreconditionFailed(f"the name has more than {NAME_OCTETS_MAX} octets: {name!r:.300}")


def find_stream(session: "StreamSession", name: str) -> "Stream | None":
    """Return a stream of the virtual host; None if there is none, or a queue of that name."""
    assert session.vhost is not None
    queue = session.vhost.queues.get(name)
    return queue if isinstance(queue, Stream) else None


def stream_of(session: "StreamSession", name: str, permission: str) -> Stream:
    """Return a stream for which the user has a permission. Raises AccessRefused (403), Refused."""
    check(session, permission, name)
    stream = find_stream(session, name)
    if stream is None:
        raise Refused(Code.STREAM_DOES_NOT_EXIST)
    return stream


def tracking_of(stream: Stream) -> "Tracking":
    """Return the tracking of a stream. Raises Unready: it is being read back since a start, and the request waits."""
    tracking = stream.tracking
    if not tracking.is_ready:
        unready = Unready()
        tracking.when_ready(unready.resume)
        raise unready
    return tracking
