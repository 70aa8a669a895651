"""Large transfers over TLS: received at once up to the octet that is wanted, and how they end."""

import random
import ssl

import pytest

from pybroker.net.tls_transport import READ_OCTETS_MAX, RECORD_OCTETS
from tests.certificates import make_certificates
from tests.net.tls_pair import Pair, begin_large_transfer


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def pair(made, request):
    return Pair(made, request.param)


def test_a_large_transfer_is_received_up_to_the_octet_that_the_session_wants(pair):
    begin_large_transfer(pair)
    octets = random.Random(1).randbytes(3_000_000)
    pair.peer_sends(octets)
    transport, at = pair.transport, 0
    # A session that reads whole messages finds no part of one behind them.
    for size in (1_048_576, 1_000_001, 7):
        assert transport.receive(size) == octets[at : at + size]
        assert transport.buffered
        at += size
    # The rest is not waited for.
    assert transport.receive(2_000_000) == octets[at:]
    assert not transport.buffered
    with pytest.raises(BlockingIOError):
        transport.receive(2_000_000)


def test_less_than_was_asked_for_may_be_all_that_the_socket_has(pair):
    pair.peer_sends(b"a" * 10_000)
    pair.transport._sock = Counting(pair.sock)
    assert pair.transport.receive(131_072) == b"a" * 10_000
    # Small transfers cost no call more than they need: it is not asked what comes behind them.
    assert pair.transport._sock.calls == 1


class Counting:
    """A socket that counts how often it is read."""

    def __init__(self, sock) -> None:
        self._sock = sock
        self.calls = 0

    def recv_into(self, buffer, octets_max: int) -> int:
        self.calls += 1
        return self._sock.recv_into(buffer, octets_max)


def send_full_reads(pair, count: int) -> bytes:
    """Have the peer send what fills so many reads of the socket to the octet; return what it is for the session."""
    pair.peer.write(b"a")
    overhead = pair.outgoing.pending - 1
    sock, octets, left = pair.sock, b"a", count * READ_OCTETS_MAX - pair.outgoing.pending
    while left > overhead:
        more = random.Random(left).randbytes(min(RECORD_OCTETS, left - overhead))
        octets += more
        pair.peer.write(more)
        left -= len(more) + overhead
    sock.came += pair.outgoing.read()
    assert len(sock.came) == count * READ_OCTETS_MAX
    return octets


def cut_off(sock) -> None:
    """Let a socket give what came, and then an error, as of a peer that resets its connection."""
    plain = sock.recv_into

    def recv_into(buffer, octets_max: int) -> int:
        try:
            return plain(buffer, octets_max)
        except BlockingIOError:
            raise ConnectionResetError(104, "Connection reset by peer") from None

    sock.recv_into = recv_into


def test_a_reset_amid_a_large_transfer_follows_what_came_before(pair):
    begin_large_transfer(pair)
    octets = send_full_reads(pair, 2)
    cut_off(pair.sock)
    assert pair.transport.receive(1_000_000) == octets
    # There is no event for it any more: the kernel tells an error once.
    assert pair.transport.buffered
    for _ in range(2):
        with pytest.raises(OSError, match="Connection reset by peer"):
            pair.transport.receive(1_000_000)


@pytest.mark.parametrize("lost", [0, 1])
def test_an_end_amid_a_large_transfer_follows_what_came_before(pair, lost):
    begin_large_transfer(pair)
    octets = send_full_reads(pair, 2)
    if lost:
        pair.peer.write(b"lost")
        pair.sock.came += pair.outgoing.read()[:-1]
    pair.sock.ended = True
    assert pair.transport.receive(1_000_000) == octets
    assert pair.transport.buffered or lost
    for _ in range(2):
        assert pair.transport.receive(1_000_000) == b""


def test_a_farewell_amid_a_large_transfer_follows_what_came_before(pair):
    begin_large_transfer(pair)
    octets = random.Random(1).randbytes(700_000)
    pair.peer_sends(octets)
    with pytest.raises(ssl.SSLWantReadError):
        pair.peer.unwrap()
    pair.sock.came += pair.outgoing.read()
    assert pair.transport.receive(1_000_000) == octets
    assert pair.transport.buffered
    assert pair.transport.receive(1_000_000) == b""


def test_a_damaged_record_amid_a_large_transfer_ends_it_behind_what_came_before(pair):
    begin_large_transfer(pair)
    octets = random.Random(1).randbytes(600_000)
    pair.peer_sends(octets)
    whole = len(pair.sock.came)
    pair.peer_sends(b"def")
    pair.sock.came[whole + 8] ^= 1
    assert pair.transport.receive(1_000_000) == octets
    assert pair.transport.buffered
    with pytest.raises(OSError, match=r"TLS: .*record"):
        pair.transport.receive(1_000_000)
