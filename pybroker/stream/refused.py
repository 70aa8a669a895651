"""Refused requests, and those that have to wait: raised where that is found, answered in one place (`input`)."""

from typing import TYPE_CHECKING, Final

from pybroker.core.channel.throttle import TrackingCause
from pybroker.errors import AccessRefused, AmqpError, InternalError, NotFound, ResourceLocked
from pybroker.wire.stream.codes import Code, Key, OffsetType
from pybroker.wire.stream.frame import response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.core.topology.removal import Removal
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream.commands import Request

# Of a reason in the log: clients choose names, of any length.
TEXT_MAX: Final = 600
# Answers to these have more than a code, whatever it is.
_CONTENTS: Final["Mapping[int, bytes]"] = {
    Key.QUERY_PUBLISHER_SEQUENCE: bytes(8),
    Key.QUERY_OFFSET: bytes(8),
    Key.ROUTE: bytes(4),
    Key.PARTITIONS: bytes(4),
    Key.STREAM_STATS: bytes(4),
    Key.RESOLVE_OFFSET_SPEC: OffsetType.OFFSET.to_bytes(2) + bytes(8),
}


class Refused(Exception):
    """A request cannot be granted; the peer is told the code."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.name)
        self.code = code


class Unready(Exception):
    """A request can be granted later: when something is removed, or a stream's tracking is back after a start."""

    def __init__(self, removal: "Removal | None" = None) -> None:
        super().__init__("later")
        self._removal = removal
        self._cause = TrackingCause()
        self._session: StreamSession | None = None

    def have_wait(self, session: "StreamSession") -> None:
        """Have nothing read from the peer until then."""
        if self._removal is not None:
            session.wait_for(self._removal)
            return
        self._session = session
        session.stop_reading(self._cause)

    def resume(self) -> None:
        """Have the request read once more."""
        if self._session is not None:
            self._session.resume_reading(self._cause)


def refusal(request: "Request", code: Code) -> bytes:
    """Return the answer to a request that is not granted."""
    return response(request.key, request.correlation_id, code, _CONTENTS.get(request.key, b""))


def warn_refused(session: "StreamSession", key: int, name: str, error: AmqpError) -> None:
    """Tell operators why a request was refused; its peer gets a code only."""
    text = f"{name} of connection {session.pid} ({session.name}) is refused: {error.text:.{TEXT_MAX}}"
    session.broker.warn("stream.request_refused", f"refused {session.id} {key}", text, session)


def code_of(error: AmqpError) -> Code:
    """Return what a fault of AMQP is called here."""
    if isinstance(error, AccessRefused | ResourceLocked):
        return Code.ACCESS_REFUSED
    if isinstance(error, NotFound):
        return Code.STREAM_DOES_NOT_EXIST
    return Code.INTERNAL_ERROR if isinstance(error, InternalError) else Code.PRECONDITION_FAILED
