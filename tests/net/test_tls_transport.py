"""A transport with TLS against a model: octets in order, once, whatever the sizes and however little the kernel takes.

The socket is a fake: it takes a few octets, or none, and gives a few, or none. The peer's end is OpenSSL in memory.
"""

import random
import ssl

import pytest

from pybroker.net.tls_transport import ENCRYPTED_MAX, READ_OCTETS_MAX, RECORD_OCTETS
from tests.certificates import make_certificates
from tests.net.tls import Tls, client_context, server_context
from tests.net.tls_pair import Pair, begin_large_transfer


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def pair(made, request):
    return Pair(made, request.param)


def random_size(chance: random.Random) -> int:
    return chance.choice((0, 1, chance.randrange(200), chance.randrange(20_000), 16_384, chance.randrange(300_000)))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_sent_arrives_in_order_whatever_the_kernel_takes(pair, seed):
    chance = random.Random(seed)
    sock, transport = pair.sock, pair.transport
    wanted, received, pending = bytearray(), bytearray(), []
    called = []
    for _ in range(60):
        sock.room = chance.choice((0, 1, 100, 5_000, 100_000, 1 << 30))
        sock.portion = chance.choice((1_000, 100_000, 1 << 30))
        if not pending:
            parts = [chance.randbytes(random_size(chance)) for _ in range(chance.randrange(1, 9))]
            parts = [chance.choice((bytes, memoryview))(part) for part in parts]
            wanted += b"".join(parts)
            pending = transport.send(parts)
            if pending:
                transport.start_writing(lambda: called.append(True))
        elif pair.writer is not None and pair.writer.active:
            pair.writer.call_back()
            if called:
                called.clear()
                assert not transport._unsent
                pending = transport.send(pending)
                if not pending:
                    transport.stop_writing()
        # Encrypted octets that nobody takes are bounded: flow control sees a slow peer.
        assert len(transport._unsent) < ENCRYPTED_MAX * 1.1
        received += pair.peer_received()
    sock.room = sock.portion = 1 << 30
    for _ in range(100):
        if pair.writer is None or not pair.writer.active:
            break
        pair.writer.call_back()
        if pending:
            pending = transport.send(pending)
            if not pending:
                transport.stop_writing()
    received += pair.peer_received()
    assert not pending
    assert received == wanted


@pytest.mark.parametrize("seed", range(6))
def test_what_the_peer_sends_arrives_in_order_and_is_announced(pair, seed):
    chance = random.Random(100 + seed)
    sock, transport = pair.sock, pair.transport
    wanted, received, line = bytearray(), bytearray(), bytearray()
    for _ in range(80):
        octets = chance.randbytes(random_size(chance))
        wanted += octets
        pair.peer_sends(octets)
        line += sock.came
        sock.came.clear()
        arrived = chance.choice((0, 1, 4, 1_000, len(line)))
        sock.came += line[:arrived]
        del line[:arrived]
        # As the connection does: on an event while there is one, else while the transport says so.
        while sock.came or transport.buffered:
            octets_max = chance.choice((1, 100, 4_096, 131_072, 1_000_000))
            try:
                got = transport.receive(octets_max)
            except BlockingIOError:
                continue
            assert 0 < len(got) <= octets_max
            received += got
    sock.came += line
    while sock.came or transport.buffered:
        try:
            received += transport.receive(1 << 20)
        except BlockingIOError:
            break
    assert received == wanted


@pytest.mark.parametrize(
    ("parts", "fewest"),
    [
        ([b"a" * 100] * 1_000 + [b"b" * 131_072, b"c" * 8], 15),
        # More than is encrypted at a time, and parts that are large enough to go alone.
        ([b"a" * 100] * 3_000, 16 + 3),
        ([b"a" * 100, b"b" * 131_072, b"a" * 100, b"b" * 131_072], 1 + 8 + 1 + 8),
        ([b""], 0),
    ],
)
def test_many_parts_of_any_size_make_few_records(pair, parts, fewest):
    assert pair.transport.send(parts) == []
    records = 0
    at = 0
    while at < len(pair.sock.sent):
        at += 5 + int.from_bytes(pair.sock.sent[at + 3 : at + 5])
        records += 1
    assert records == fewest
    assert pair.peer_received() == b"".join(parts)


def test_a_peer_that_does_not_read_gets_no_more_than_a_share(pair):
    pair.sock.room = 0
    parts = pair.transport.send([bytes(10_000_000)])
    assert sum(map(len, parts)) == 10_000_000 - ENCRYPTED_MAX
    assert len(pair.transport.send(parts)[0]) == 10_000_000 - ENCRYPTED_MAX
    pair.transport._sock = Counted(pair.sock)
    assert pair.transport.send(parts) is parts


class Counted:
    """A socket that takes nothing."""

    def __init__(self, sock) -> None:
        self.fileno = sock.fileno

    def send(self, _) -> int:
        raise BlockingIOError


def test_a_large_read_is_only_for_a_peer_that_sends_much(pair):
    transport = pair.transport
    pair.peer_sends(b"a" * 100)
    assert transport.receive(1 << 20) == b"a" * 100
    assert transport._read_octets == RECORD_OCTETS
    for _ in range(8):
        pair.peer_sends(b"b" * 600_000)
        while pair.sock.came or transport.buffered:
            try:
                transport.receive(131_072)
            except BlockingIOError:
                break
    assert transport._read_octets == READ_OCTETS_MAX


class OnlyKeys:
    """OpenSSL with a peer that changes keys and sends nothing: all that comes is taken, and none of it is content."""

    def __init__(self, incoming) -> None:
        self.incoming = incoming

    def read(self, _) -> bytes:
        self.incoming.read()
        raise ssl.SSLWantReadError


def test_a_peer_that_sends_records_without_content_keeps_nobody_waiting(pair):
    transport = pair.transport
    begin_large_transfer(pair)
    transport._tls = OnlyKeys(transport._incoming)
    # More than is ever read: it comes as fast as it is taken.
    pair.sock.came += bytes(10_000_000)
    with pytest.raises(OSError, match="records without content"):
        transport.receive(131_072)
    assert len(pair.sock.came) > 9_000_000
    with pytest.raises(OSError, match="records without content"):
        transport.send([b"more"])


class ContentThenKeys(OnlyKeys):
    """The same with some content in front of the keys."""

    def __init__(self, incoming) -> None:
        super().__init__(incoming)
        self.content = [b"content"] * 3

    def read(self, octets_max) -> bytes:
        return self.content.pop() if self.content else super().read(octets_max)


def test_content_in_front_of_records_without_content_does_not_have_them_followed(pair):
    transport = pair.transport
    begin_large_transfer(pair)
    transport._tls = ContentThenKeys(transport._incoming)
    pair.sock.came += bytes(10_000_000)
    assert transport.receive(1_000_000) == b"content" * 3
    assert len(pair.sock.came) == 10_000_000 - READ_OCTETS_MAX
    assert not transport.buffered
    with pytest.raises(OSError, match="records without content"):
        transport.receive(1_000_000)


def test_little_is_read_at_a_time_of_a_peer_that_sends_mostly_records_without_content(pair):
    transport = pair.transport
    begin_large_transfer(pair)
    transport._came, transport._got = READ_OCTETS_MAX, 1
    pair.peer_sends(b"a")
    assert transport.receive(10) == b"a"
    assert transport._read_octets == RECORD_OCTETS


def test_an_end_without_a_farewell_is_an_end(pair):
    pair.peer_sends(b"abc")
    pair.sock.ended = True
    assert pair.transport.receive(10) == b"abc"
    assert pair.transport.receive(10) == b""
    assert pair.transport.receive(10) == b""


def test_an_end_amid_a_record_is_an_end(pair):
    pair.peer_sends(b"abc")
    del pair.sock.came[-1:]
    pair.sock.ended = True
    assert pair.transport.receive(10) == b""


def test_a_farewell_is_an_end_behind_what_came_before(pair):
    pair.peer_sends(b"abc")
    with pytest.raises(ssl.SSLWantReadError):
        pair.peer.unwrap()
    pair.sock.came += pair.outgoing.read()
    assert pair.transport.receive(10) == b"abc"
    assert pair.transport.buffered
    assert pair.transport.receive(10) == b""


def test_a_damaged_record_ends_it_behind_what_came_before_and_the_peer_is_told(pair):
    pair.peer_sends(b"abc")
    whole = len(pair.sock.came)
    pair.peer_sends(b"def")
    pair.sock.came[whole + 8] ^= 1
    assert pair.transport.receive(10) == b"abc"
    assert pair.transport.buffered
    with pytest.raises(OSError, match=r"TLS: .*record"):
        pair.transport.receive(10)
    with pytest.raises(OSError, match=r"TLS: .*record"):
        pair.transport.send([b"more"])
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        pair.peer_received()


def test_the_end_waits_for_what_is_encrypted(pair):
    pair.sock.room = 10
    assert pair.transport.send([b"last words"]) == []
    pair.transport.silence()
    pair.transport.finish()
    assert not pair.sock.shut
    pair.sock.room = 1 << 20
    pair.writer.call_back()
    assert pair.sock.shut
    assert not pair.writer.active
    assert pair.peer_received() == b"last words"
    # Its farewell came as well: nobody can cut the stream unnoticed.
    assert pair.peer.read(1) == b""


def test_a_peer_that_is_gone_is_noticed_by_who_comes_next(pair):
    pair.sock.room = 10
    pair.transport.send([b"last words"])
    pair.sock.gone = True
    pair.writer.call_back()
    assert not pair.writer.active
    with pytest.raises(OSError, match="Broken pipe"):
        pair.transport.send([b"more"])
    with pytest.raises(OSError, match="Broken pipe"):
        pair.transport.receive(10)


def test_octets_that_wait_in_the_filter_are_unacknowledged(server, made):
    from pybroker.net.tls_context import TlsContexts

    tls = Tls(server, TlsContexts(server_context(made.server), {}, verifies=False, depth=10))
    tls.connect(client_context(made.authority)).open()
    [connection] = server.connections
    transport = connection._transport
    before = transport.unacknowledged()
    transport._unsent = b"abc"
    assert transport.unacknowledged() == before + 3
    transport._unsent = b""
    tls.close()
