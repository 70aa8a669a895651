"""Input of one peer: its octets become calls on its session, frame by frame; Publish frames many at once.

A request that is refused is answered with a code, by `Refused`. Everything that is wrong with the octets themselves
ends the connection.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.peer.states import ENDING, State
from pybroker.core.topology.removal import StillLeavingError
from pybroker.errors import AmqpError
from pybroker.first_octets import STREAM, name_protocol
from pybroker.stream.commands import HANDSHAKE, OPEN
from pybroker.stream.publishing import publish
from pybroker.stream.refused import Refused, Unready, code_of, refusal, warn_refused
from pybroker.wire.stream.codes import RESPONSE, Code, Key
from pybroker.wire.stream.commands import Request, decode
from pybroker.wire.stream.frame import FrameTooLargeError, MalformedFrameError, announced_octets, split_frame

if TYPE_CHECKING:
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream.commands import Command

# Cost of a frame, in the units of `session.work`, and work after which a session looks at the clock.
FRAME_WORK: Final = 16
WORK_MAX: Final = 512
# A peer whose frames are larger is read in large portions: what a read has cut of one is copied once more.
LARGE_FRAME_OCTETS: Final = 65_536
_PUBLISH: Final = int(Key.PUBLISH)
_CLOSE_RESPONSE: Final = Key.CLOSE | RESPONSE


def receive(session: "StreamSession", data: bytes) -> None:
    """Take octets as they came from the peer."""
    if data:
        session.recv_octets += len(data)
        session.recv_count += 1
    session.last_recv_ms = now_ms = session.broker.clock.now_ms
    if session.finished:
        return
    session.input_pending = False
    session.work = 0
    session.until_ms = now_ms + session.turn.receive_ms
    session.read_octets = session.portion_octets
    buffer = session.rest + data if session.rest else data
    session.rest = b""
    try:
        position = _receive(session, buffer)
    except FrameTooLargeError as error:
        _too_large(session, buffer, error)
        return
    except MalformedFrameError as error:
        session.fail(Code.UNKNOWN_FRAME, "unknown frame", f"unknown frame: {error}")
        return
    session.channel.send_confirms()
    if position < len(buffer) and not session.finished:
        session.rest = buffer[position:] if position else buffer
        if not session.input_pending and announced_octets(buffer, position) > LARGE_FRAME_OCTETS:
            session.read_octets = session.large_octets


def _receive(session: "StreamSession", buffer: bytes) -> int:
    """Process what is complete; return where the rest begins.

    Stops earlier, and leaves the session `input_pending`, when its share of the turn is spent, or something is in the
    way. Raises FrameTooLargeError, MalformedFrameError.
    """
    position, end = 0, len(buffer)
    while position < end and not session.finished:
        found = split_frame(buffer, position, session.frame_octets_max)
        if found is None:
            break
        if session.state in ENDING:
            if found.key == _CLOSE_RESPONSE:
                session.cut_off("closed by the broker")
            position = found.stop
            continue
        if found.key == _PUBLISH and session.state is State.RUNNING:
            after = publish(session, buffer, position, found)
            if after == position:
                session.input_pending = True
                break
            position = after
        else:
            try:
                _do(session, decode(buffer, found))
            except Unready as error:
                # The frame is read once more when that is over, and what is behind it waits.
                error.have_wait(session)
                session.input_pending = True
                break
            position = found.stop
        session.work += FRAME_WORK
        if not session.readable or (session.work > WORK_MAX and session.spent()) or session.in_handshake:
            session.input_pending = position < end
            break
    return position


def _do(session: "StreamSession", command: "Command") -> None:
    """Do what a command says. Raises MalformedFrameError: it must not come now, and Unready."""
    handler = (OPEN if session.state is State.RUNNING else HANDSHAKE[session.state]).get(command.key)
    if handler is None:
        raise MalformedFrameError(f"command {command.key} in state {session.state}")
    try:
        handler(session, command)
    except Refused as error:
        if isinstance(command, Request):
            session.channel.reply(refusal(command, error.code))
    except StillLeavingError as error:
        raise Unready(removal=error.removal) from None
    except AmqpError as error:
        warn_refused(session, command.key, type(command).__name__, error)
        if isinstance(command, Request):
            session.channel.reply(refusal(command, code_of(error)))


def _too_large(session: "StreamSession", buffer: bytes, error: FrameTooLargeError) -> None:
    """End a connection whose next frame would be too large: mostly one that speaks another protocol."""
    found = name_protocol(buffer)
    if session.state is State.HEADER and found != STREAM:
        text = f"closing stream connection {session.pid} ({session.name}): {found} instead of {STREAM}"
        session.broker.warn("connection.foreign", f"foreign {session.peer_host}", text, session)
        session.finish("no frame of the stream protocol")
        return
    session.fail(Code.FRAME_TOO_LARGE, "frame too large", str(error))
