"""Input of one peer: its octets become calls on its session's channels (AMQP §4.2).

There are two ways in. `wire.content.scan` takes whole publishes and acks out of a chunk at once; everything else, and
everything that is wrong, incomplete or interleaved, goes frame by frame, with the same meaning. The effect of a method
is in `methods/`, the effect of an error on the session in `session.py`.
"""

from typing import TYPE_CHECKING, Final

from pybroker.amqp.channel import PUBLISH, AmqpChannel
from pybroker.amqp.methods import CHANNEL_METHODS, CONNECTION_METHODS, access
from pybroker.amqp.numbered_commit import UnreadyError
from pybroker.amqp.publishing import WORK_MAX, publish_event, share
from pybroker.amqp.states import END, HEADER, RUNNING, accepts, after
from pybroker.core.auth.quota import check_channel
from pybroker.core.peer.states import ENDING
from pybroker.core.queue.pause import WithheldError
from pybroker.core.topology.removal import StillLeavingError
from pybroker.errors import AmqpError, ChannelError, CommandInvalid, NotAllowed, UnexpectedFrame
from pybroker.first_octets import name_protocol
from pybroker.wire import frame
from pybroker.wire.content import Event, scan
from pybroker.wire.methods import decode_method
from pybroker.wire.partial_publish import is_unfinished

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession

# Cost of a frame and of an acknowledgement, in the units of `session.work`.
METHOD_WORK: Final = 8
ACK_WORK: Final = 4
# The method of a frame that belongs to none.
NOTHING: Final = (0, 0)
# How much of a new chunk is joined to what was left of the last one: a frame and a small one behind it.
JOIN_OCTETS: Final = 135_168


def receive(session: "AmqpSession", data: bytes) -> None:
    """Take octets as they came from the peer."""
    if data:
        session.recv_octets += len(data)
        session.recv_count += 1
    session.last_recv_ms = now_ms = session.broker.clock.now_ms
    if session.input_broken:
        return
    session.input_pending = False
    session.work = 0
    session.until_ms = now_ms + session.turn.receive_ms
    position = 0
    try:
        if session.rest:
            rest, session.rest = session.rest, b""
            if len(data) > 2 * JOIN_OCTETS:
                # Complete what was cut alone: joining all would copy the whole chunk for the sake of one frame.
                position = _receive(session, rest + data[:JOIN_OCTETS], 0) - len(rest)
                if position < 0:
                    data = rest + data
                    position += len(rest)
            else:
                data = rest + data
        if not session.input_pending:
            position = _receive(session, data, position)
    except AmqpError as error:
        session.input_broken = True
        session.fail(error)
        return
    if session.confirming:
        for channel in session.confirming:
            channel.send_confirms()
        session.confirming.clear()
    if session.sharing is not None and not session.input_pending:
        share(session, session.sharing, session.sharing_octets)
        session.sharing = None
    if position < len(data) and not session.finished:
        session.rest = data[position:]


def _receive(session: "AmqpSession", data: bytes, position: int) -> int:
    """Process what is complete in `data` from `position` on; return where the rest begins.

    Stops earlier, and leaves the session `input_pending`, when its share of the turn is spent or its peer does not
    read.

    Raises FrameError (501) where the octets are no frames. Errors of a good frame are answered here, so that the next
    frames are still understood: the peer's connection.close-ok.
    """
    end = len(data)
    if session.state is HEADER:
        if end < 8:
            if not any(header.startswith(data) for header in frame.PROTOCOL_HEADERS):
                _refuse_header(session, data)
                return end
            return 0
        if not data.startswith(frame.PROTOCOL_HEADERS):
            _refuse_header(session, data)
            return end
        CONNECTION_METHODS["start"](session, None)
        session.input_pending = end > 8
        position = 8
    message_max = session.broker.settings.message_octets_max
    session.read_octets = session.portion_octets
    session.throttled_by = None
    if session.events:
        _apply_all(session)
    while position < end and not session.finished and not session.input_pending:
        if not session.assembling and session.state is RUNNING:
            position = scan(data, position, session.routes, session.scan_octets_max, message_max, session.events)
            if session.events:
                session.whole_at = session.recv_octets - (end - position)
                _apply_all(session)
            if position >= end or session.input_pending:
                break
            if is_unfinished(data, position, session.routes, session.scan_octets_max, message_max):
                break  # with what comes next it is one of a run, which costs a tenth of reading its frames here
        split = frame.split_frame(data, position, session.frame_octets_max)
        if split is None:
            break
        kind, number, start, stop = split
        try:
            if kind == frame.BODY:
                _receive_body(session, number, data[position : stop + 1])
            else:
                _receive_frame(session, kind, number, data[start:stop])
        except StillLeavingError as error:
            # Its name can be used again soon: the method is read once more then, and what is behind it waits.
            session.wait_for(error.removal)
            session.input_pending = True
            break
        except WithheldError as error:
            session.withhold(error.cause)
            break
        except UnreadyError as error:
            error.have_wait(session)
            break
        except AmqpError as error:
            session.fail(error)
        position = stop + 1
        session.work += METHOD_WORK
        if not session.readable or (session.work > WORK_MAX and session.spent()) or session.in_handshake:
            session.input_pending = position < end or bool(session.events)
    return position


def _refuse_header(session: "AmqpSession", data: bytes) -> None:
    """Answer a header that is not ours with the one we speak, and close (§4.2.2)."""
    found = name_protocol(data)
    text = f"closing AMQP connection {session.pid} ({session.name}): {found} instead of the header of AMQP 0-9-1"
    session.broker.warn("connection.foreign", f"foreign {session.peer_host}", text, session)
    # Differs from RabbitMQ: it serves AMQP 0-8 as well.
    session.send(frame.PROTOCOL_HEADER)
    session.reason = "bad protocol header"
    session.state = after(session.state, END)
    session.closing = session.finished = True


def _apply_all(session: "AmqpSession") -> None:
    """Do what the scanner found, as far as the session's share of the turn goes."""
    events = session.events
    at = 0
    try:
        for at, event in enumerate(events, 1):
            left = _apply(session, event)
            if left is not None:
                at -= 1
                events[at] = left
                session.input_pending = True
                break
            if not session.readable or (session.work > WORK_MAX and session.spent()):
                session.input_pending = at < len(events)
                break
    except AmqpError as error:
        session.fail(error)
    if session.input_pending:
        del events[:at]
    else:
        events.clear()


def _apply(session: "AmqpSession", event: Event) -> Event | None:
    """Do what the scanner found; return what is left of it. A soft error closes the channel and spares the others."""
    channel: AmqpChannel | None
    if event[0] is None:
        _, number, first, last, multiple = event
        channel = session.channels.get(number)
        if channel is None:
            raise ChannelError("expected 'channel.open'", (60, 80))
        if channel.closing:
            return None
        session.work += ACK_WORK
        try:
            channel.ack(first, last, multiple=multiple)
        except AmqpError as error:
            session.channel_failed(channel, error, (60, 80))
        return None
    channel = event[0].owner
    assert channel is not None
    if channel.closing:
        return None
    if not session.publishing:
        session.first_published()
        if session.throttle.blocked:
            return event  # an alarm holds it
    try:
        return publish_event(channel, event)
    except AmqpError as error:
        session.channel_failed(channel, error, PUBLISH)
        return None


def _receive_frame(session: "AmqpSession", kind: int, number: int, payload: bytes) -> None:
    if kind == frame.HEARTBEAT:
        if number:
            raise frame.unexpected_frame(kind, payload)
        return
    if number == 0:
        if kind != frame.METHOD:
            raise frame.unexpected_frame(kind, payload)
        _connection_method(session, payload)
        return
    if session.state is not RUNNING:
        if session.state in ENDING:
            return
        raise frame.unexpected_frame(kind, payload)
    channel = session.channels.get(number)
    if channel is None:
        channel = _new_channel(session, number, payload if kind == frame.METHOD else b"")
    if channel.closing and not (kind == frame.METHOD and payload[:4] in (b"\0\x14\0\x28", b"\0\x14\0\x29")):
        return  # channel.close and channel.close-ok are all that counts after our channel.close
    expected = NOTHING if channel.assembly is None else PUBLISH
    try:
        if kind != frame.METHOD or channel.assembly is not None:
            channel.receive_content(kind, payload)
        elif payload.startswith(b"\0\x3c\0\x28"):
            channel.begin_publish(payload)
        else:
            _channel_method(channel, payload)
    except AmqpError as error:
        method = (int.from_bytes(payload[:2]), int.from_bytes(payload[2:4])) if kind == frame.METHOD else expected
        session.channel_failed(channel, error, method)


def _receive_body(session: "AmqpSession", number: int, octets: bytes) -> None:
    """Take a body frame, whole: it is kept as it is."""
    channel = session.channels.get(number)
    if channel is None:
        _receive_frame(session, frame.BODY, number, octets[7:-1])
    elif not channel.closing:
        expected = NOTHING if channel.assembly is None else PUBLISH
        try:
            channel.receive_body(octets)
        except AmqpError as error:
            session.channel_failed(channel, error, expected)


def _connection_method(session: "AmqpSession", payload: bytes) -> None:
    method = decode_method(payload)
    index = (method.index >> 16, method.index & 0xFFFF)
    try:
        if accepts(session.state, method.name):
            CONNECTION_METHODS[method.name](session, method)
    except AmqpError as error:
        if error.method == (0, 0):
            error.method = index
        raise


def _new_channel(session: "AmqpSession", number: int, payload: bytes) -> AmqpChannel:
    # As in RabbitMQ channel_max limits how many are open, not their numbers; aiormq counts on that.
    if not payload:
        raise UnexpectedFrame("expected method frame, got non method frame instead")
    if payload[:4] != b"\0\x14\0\x0a":
        method = (int.from_bytes(payload[:2]), int.from_bytes(payload[2:4]))
        raise ChannelError("expected 'channel.open'", method)
    if session.channel_max and len(session.channels) >= session.channel_max:
        count = len(session.channels)
        raise NotAllowed(
            f"number of channels opened ({count}) has reached the negotiated channel_max ({session.channel_max})",
            (20, 10),
        )
    assert session.user is not None
    try:
        check_channel(session.broker, session.user)
    except NotAllowed as error:
        error.method = (20, 10)
        raise
    channel = session.channels[number] = AmqpChannel(session, number)
    session.count_channels(1)
    return channel


def _channel_method(channel: AmqpChannel, payload: bytes) -> None:
    if payload.startswith(access.REQUEST) and not channel.starting:
        access.access_request(channel, payload)
        return
    method = decode_method(payload)
    handler = CHANNEL_METHODS.get(method.name)
    if handler is None:
        raise CommandInvalid("unimplemented method")
    handler(channel, method)
