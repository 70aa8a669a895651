"""One hostile newcomer to a running broker: what comes before AMQP is damaged, cut off or something else altogether.

The promise: the broker closes it, with an alert or without, and nothing is left of it.
"""

import contextlib
import random
import socket
import ssl
import struct
from typing import Final, NamedTuple

from pybroker.net.proxy_protocol import SIGNATURE

AMQP: Final = b"AMQP\0\0\x09\1"
_ADDRESSES: Final = struct.pack(">4B4BHH", 192, 0, 2, 1, 192, 0, 2, 2, 40_000, 5_672)
HEADERS: Final = (
    b"PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672\r\n",
    b"PROXY TCP6 2001:db8::1 2001:db8::2 40000 5672\r\n",
    b"PROXY UNKNOWN\r\n",
    SIGNATURE + b"\x20\0\0\0",
    SIGNATURE + b"\x21\x11" + len(_ADDRESSES).to_bytes(2) + _ADDRESSES,
    SIGNATURE + b"\x21\x11" + (len(_ADDRESSES) + 103).to_bytes(2) + _ADDRESSES + b"\xe0\0\x64" + bytes(100),
)
WAIT_S: Final = 60.0
# The damage is in the header of a proxy, a flight of the handshake, the first record behind it, or everywhere.
KINDS: Final = ("header", "flight", "flight", "flight", "record", "noise")


class Target(NamedTuple):
    """A place where a broker listens that wants PROXY headers, and the contexts with which a client gets in, if any."""

    address: tuple[str, int]
    contexts: tuple[ssl.SSLContext, ...] = ()


def run_newcomer(target: Target, number: int) -> str:
    """Knock as newcomer `number` and return how it ended. Raises TimeoutError for a broken promise."""
    chance = random.Random(number)
    kind = chance.choice(KINDS) if target.contexts else chance.choice(("header", "header", "noise"))
    # Each source address has ports of its own, which rest for a minute after they were used.
    source = (f"127.0.0.{chance.randint(2, 250)}", 0)
    with socket.create_connection(target.address, WAIT_S, source) as sock:
        with contextlib.suppress(ConnectionError):
            if kind == "noise":
                sock.sendall(
                    chance.choice((b"", AMQP, b"\x16\3\1", *HEADERS)) + chance.randbytes(chance.randint(1, 999))
                )
            elif kind == "header":
                sock.sendall(spoil(chance, chance.choice(HEADERS)) + chance.choice((b"", AMQP)))
            else:
                sock.sendall(chance.choice(HEADERS))
                _shake(sock, chance, target, kind)
        if chance.randrange(5) == 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return f"{kind}: reset"
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        return f"{kind}: {_read_end(sock)}"


def _shake(sock: socket.socket, chance: random.Random, target: Target, kind: str) -> None:
    """Shake hands until a flight that is spoilt, or to the end and one record more that is."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = chance.choice(target.contexts).wrap_bio(incoming, outgoing, server_hostname="localhost")
    honest_flights = 99 if kind == "record" else chance.randrange(2)
    done = False
    while not done:
        try:
            client.do_handshake()
            done = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            return
        octets = outgoing.read()
        if not honest_flights:
            sock.sendall(spoil(chance, octets))
            return
        honest_flights -= 1
        sock.sendall(octets)
        if not done:
            answer = sock.recv(65_536)
            if not answer:
                return
            incoming.write(answer)
    client.write(AMQP * chance.choice((1, 1, 3_000)))
    sock.sendall(spoil(chance, outgoing.read()))


def spoil(chance: random.Random, octets: bytes) -> bytes:
    """Return octets with up to four faults: changed, missing, more, twice, or cut off."""
    some = bytearray(octets)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(some) + 1)
        match chance.randrange(10):
            case 0:
                del some[at:]
            case 1:
                del some[at : at + chance.randint(1, 8)]
            case 2:
                some[at:at] = some[at : at + chance.randint(1, 30)]
            case 3:
                some[at:at] = chance.randbytes(chance.randint(1, 300))
            case 4:  # the headers of records and of what is in them
                for place in range(min(12, len(some))):
                    if chance.randrange(4) == 0:
                        some[place] = chance.randrange(256)
            case _:
                some[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(some)


def _read_end(sock: socket.socket) -> str:
    """Read to the end of the stream and return what came first."""
    first = b""
    try:
        while octets := sock.recv(65_536):
            first = first or octets
    except ConnectionError:
        return "reset by broker"
    if not first:
        return "closed"
    return {0x15: "alert", 0x16: "handshake", 0x17: "record", 0x14: "handshake"}.get(first[0], "AMQP")
