"""The step of a preamble that reads a PROXY header from a trusted proxy; from then on the client's address counts.

Owns which addresses a session gets, and takes no octet that comes behind the header. `proxy_protocol` knows the octets.
"""

import ipaddress
from typing import TYPE_CHECKING

from pybroker.net.preamble import Step
from pybroker.net.proxy_protocol import HEADER_OCTETS_MAX, ProxyHeader, ProxyHeaderError, parse
from pybroker.net.transport import read_address

if TYPE_CHECKING:
    from pybroker.net.preamble import Preamble
    from pybroker.peer import Peer

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyStep(Step):
    """A peer that is in none of the `trusted` networks is refused before it has said anything."""

    __slots__ = ("_received", "_trusted")

    waits_for = "a PROXY header"

    def __init__(self, trusted: tuple[Network, ...], preamble: "Preamble") -> None:
        super().__init__(preamble)
        self._trusted = trusted
        self._received = b""

    def begin(self) -> None:
        """Wait for the header."""
        preamble = self.preamble
        address = ipaddress.ip_address(preamble.peer.address[0])
        if any(address in network for network in self._trusted):
            self.listen()
        else:
            preamble.refuse(f"{address} is not one of the trusted proxies (proxy_protocol.trusted)")

    def heard(self) -> None:
        """Go on with the header."""
        preamble = self.preamble
        try:
            header = self._read()
        except BlockingIOError:
            self.listen()
        except ProxyHeaderError as error:
            preamble.refuse(f"malformed PROXY header: {error}")
        except OSError as error:
            preamble.peer_left(f"{error.strerror or error}")
        else:
            if header is None:
                self.listen()
            else:
                preamble.peer = introduce(preamble.peer, header)
                preamble.passed()

    def _read(self) -> ProxyHeader | None:
        """Return the header if it is complete. Raises BlockingIOError, OSError, ProxyHeaderError."""
        transport = self.preamble.transport
        before = len(self._received)
        octets = transport.peek(HEADER_OCTETS_MAX - before)
        if not octets:
            raise ConnectionResetError(0, "client unexpectedly closed TCP connection")
        self.preamble.began = True
        octets = self._received + octets
        header = parse(octets)
        # The rest belongs to whatever comes next.
        transport.receive((len(octets) if header is None else header.octets) - before)
        self._received = octets
        return header


def introduce(peer: "Peer", header: ProxyHeader) -> "Peer":
    """Return what a header makes of a proxy: the client that it speaks for.

    Such a client is local if it was on the proxy's machine, and that is this one. A client of unknown address has the
    proxy's, but is not local: nobody knows where it came from.
    """
    if not header.relayed:
        return peer
    if header.source is None or header.destination is None:
        return peer._replace(is_local=False)
    (source, source_port), (destination, destination_port) = header.source, header.destination
    host, is_loopback = read_address(source)
    return peer._replace(
        address=(host, source_port),
        local=(read_address(destination)[0], destination_port),
        # Differs from RabbitMQ: it asks whether the proxy is local, so loopback users get in through one from anywhere.
        is_local=is_loopback and peer.is_local,
    )
