"""One hostile session against a running broker: an honest beginning up to some state, then whatever the grammar gives.

The promise: it ends in a reply code or a close, what the broker sent is well-formed AMQP to the last octet, and nothing
is left of it.
"""

import contextlib
import socket
import struct
from typing import Final

from pamqp import base, commands, frame as codec
from pamqp.exceptions import PAMQPException

from tests.fuzz.live_grammar import Grammar
from tests.interop.peer import BODY, HEADER, HEARTBEAT, METHOD, PROTOCOL_HEADER, ClosedError, Frame, Peer, frame

# The end of the honest part of a session.
STATES: Final = ("connected", "header", "started", "tuned", "opened", "channel", "busy", "content", "closing")
WEIGHTS: Final = (2, 2, 3, 3, 4, 8, 12, 4, 3)
ASIDE: Final = 9  # the channel of a mild session that nothing hostile is sent on
REPLY_CODES: Final = frozenset(
    {200, 311, 312, 313, 320, 402, 403, 404, 405, 406, 501, 502, 503, 504, 505, 506, 530, 540}
)


def run_session(address: tuple[str, int], number: int) -> str:
    """Run session `number` and return how it ended. Raises AssertionError or TimeoutError for a broken promise."""
    grammar = Grammar(number)
    pick = grammar.random
    with Peer(address, timeout_s=60) as peer:
        if grammar.mild:
            state = "mild"
            octets = _live(peer, grammar)
        else:
            state = pick.choices(STATES, WEIGHTS)[0]
            octets = _begin(peer, state, grammar)
            octets += b"".join(grammar.chunk() for _ in range(pick.choice((1, 2, 4, 8, 30))))
        ending = pick.choice(("close", "close", "cut", "reset"))
        if ending == "close":
            octets += codec.marshal(commands.Connection.Close(200, "", 0, 0), 0)
        _send(peer, octets, pick.choice((0, 0, 0, 1, 7)))
        if ending == "reset":
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return f"{state}: reset"
        _shut(peer)
        return f"{state}: {_read_end(peer)}"


def _live(peer: Peer, grammar: Grammar) -> bytes:
    """Lead a long life: after each step ask on a channel of its own whether we live, and open again what was closed."""
    peer.open(channels=2, frame_octets_max=grammar.random.choice((4_096, 131_072)))
    peer.call(commands.Channel.Open(), commands.Channel.OpenOk, channel=ASIDE)
    octets = b""
    for _ in range(grammar.random.choice((5, 20, 40))):
        octets += b"".join(grammar.chunk() for _ in range(grammar.random.choice((1, 1, 3))))
        if grammar.spoiled:
            return octets
        octets += codec.marshal(commands.Channel.Flow(active=True), ASIDE)
        with contextlib.suppress(ConnectionError):
            peer.socket.sendall(octets)
        octets = b""
        while True:
            try:
                got = peer.read_frame()
            except (ClosedError, ConnectionError):
                return b""
            method = checked(got)
            if isinstance(method, commands.Connection.Close):
                peer.aside.append(got)
                return codec.marshal(commands.Connection.CloseOk(), 0)
            if isinstance(method, commands.Channel.Close):
                octets += codec.marshal(commands.Channel.CloseOk(), got.channel)
                octets += codec.marshal(commands.Channel.Open(), got.channel)
            if got.channel == ASIDE and isinstance(method, commands.Channel.FlowOk):
                break
    return octets


def _begin(peer: Peer, state: str, grammar: Grammar) -> bytes:
    """Bring the connection into `state`; return octets to send in front of the rest."""
    if state == "connected":
        return grammar.protocol_header()
    peer.socket.sendall(PROTOCOL_HEADER)
    peer.expect(commands.Connection.Start)
    if state == "header":
        return b""
    peer.send(
        commands.Connection.StartOk({"capabilities": {"basic.nack": True}}, "PLAIN", "\0guest\0guest", "en_US"), 0
    )
    peer.expect(commands.Connection.Tune)
    if state == "started":
        return b""
    peer.send(
        commands.Connection.TuneOk(grammar.random.choice((2_047, 3)), grammar.random.choice((4_096, 131_072)), 0), 0
    )
    if state == "tuned":
        return b""
    peer.call(commands.Connection.Open("/"), commands.Connection.OpenOk, channel=0)
    if state == "opened":
        return b""
    peer.call(commands.Channel.Open(), commands.Channel.OpenOk)
    if state == "busy":
        return _busy(peer, grammar)
    if state == "content":
        return codec.marshal(commands.Basic.Publish(routing_key="f1"), 1)
    if state == "closing":
        return codec.marshal(commands.Basic.Ack(77), 1)
    return b""


def _busy(peer: Peer, grammar: Grammar) -> bytes:
    """Give the session queues with messages, consumers and a mode."""
    for queue in ("f1", "f2"):
        method = peer.call(
            commands.Queue.Declare(queue=queue, auto_delete=True), (commands.Queue.DeclareOk, commands.Channel.Close)
        )
        if isinstance(method, commands.Channel.Close):
            return b""
    octets = b"".join(grammar.step() for _ in range(5))
    mode = grammar.random.choice((None, commands.Tx.Select(), commands.Confirm.Select()))
    for method in (mode, commands.Basic.Consume(queue="f1"), commands.Basic.Consume(queue="f2", no_ack=True)):
        octets += codec.marshal(method, 1) if method else b""
    return octets


def _send(peer: Peer, octets: bytes, piece_octets: int) -> None:
    with contextlib.suppress(ConnectionError):  # the broker may have had enough already, which _read_end looks at
        for at in range(0, len(octets), piece_octets or len(octets) or 1):
            peer.socket.sendall(octets[at : at + piece_octets] if piece_octets else octets)


def _shut(peer: Peer) -> None:
    with contextlib.suppress(OSError):
        peer.socket.shutdown(socket.SHUT_WR)


def _read_end(peer: Peer) -> str:
    """Read to the end of the stream and return what ended it; every frame must be whole and known."""
    last = "end of stream"
    while True:
        try:
            if last == "end of stream" and _is_header(peer):
                return "protocol header"
            got = peer.read_frame()
        except ClosedError:
            assert not peer.received, f"half a frame at the end: {bytes(peer.received)!r}"
            return last
        except ConnectionError:
            return last
        method = checked(got)
        if isinstance(method, commands.Channel.Close | commands.Connection.Close):
            assert method.reply_code in REPLY_CODES, f"{method.reply_code} {method.reply_text}"
            last = f"{method.name} {method.reply_code}"
        elif isinstance(method, commands.Connection.CloseOk):
            last = method.name


def _is_header(peer: Peer) -> bool:
    """Tell whether the broker answers with its protocol header, as it does to a wrong one."""
    while len(peer.received) < 8:
        chunk = peer.socket.recv(65_536)
        if not chunk:
            return False
        peer.received += chunk
        if not peer.received.startswith(b"A"):
            return False
    return bytes(peer.received) == PROTOCOL_HEADER


def checked(got: Frame) -> base.Frame | None:
    """Return the method in a frame, None for another kind; a content's octets are some client's own and may be odd."""
    assert got.type in {METHOD, HEADER, BODY, HEARTBEAT}, got
    if got.type != METHOD:
        return None
    try:
        return codec.unmarshal(frame(*got))[2]
    except (PAMQPException, ValueError, struct.error) as error:
        raise AssertionError(f"the broker sent {got}") from error
