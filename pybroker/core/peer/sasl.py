"""SASL: which mechanisms a peer is offered, and what a response says. It does not know who is let in."""

from typing import TYPE_CHECKING, Any

from pybroker.core.auth.certificate import EXTERNAL
from pybroker.core.settings import AUTH_MECHANISMS
from pybroker.errors import CommandInvalid, ProtocolSyntaxError
from pybroker.wire.table import decode_table

if TYPE_CHECKING:
    from pybroker.core.peer.session import PeerSession


def offered(session: "PeerSession") -> tuple[str, ...]:
    """Return the mechanisms for a peer: EXTERNAL only if TLS has verified a certificate of its own."""
    mechanisms = session.broker.settings.auth_mechanisms
    if EXTERNAL in mechanisms and (session.tls is None or not session.tls.certificate):
        return tuple(mechanism for mechanism in mechanisms if mechanism != EXTERNAL)
    return mechanisms


def check_offered(session: "PeerSession", mechanism: str) -> None:
    """Refuse what was not offered. Raises CommandInvalid (503)."""
    if mechanism not in offered(session):
        what = "invalid" if mechanism in AUTH_MECHANISMS else "unknown"
        raise CommandInvalid(f"{what} authentication mechanism '{mechanism}'")


def credentials(mechanism: str, response: str) -> tuple[str, str]:
    """Return (user, password) out of a SASL response. Raises ProtocolSyntaxError (502)."""
    octets = response.encode(errors="surrogateescape")
    if mechanism == "PLAIN":
        parts = octets.split(b"\0")
        # RFC 4616: authorisation identity (RabbitMQ wants it empty), user, password.
        if len(parts) != 3 or parts[0]:
            raise ProtocolSyntaxError("response invalid")
        return parts[1].decode(errors="replace"), parts[2].decode(errors="surrogateescape")
    table = _login_table(octets)
    login, password = table.get("LOGIN"), table.get("PASSWORD")
    if not isinstance(login, str) or not isinstance(password, str):
        raise ProtocolSyntaxError("AMQPLAIN auth info is missing LOGIN or PASSWORD field")
    return login, password


def _login_table(octets: bytes) -> dict[str, Any]:
    """Return AMQPLAIN's table, which comes without its length."""
    from pybroker.wire.validate import check_table  # noqa: PLC0415 - one login in a thousand

    whole = len(octets).to_bytes(4) + octets
    check_table(whole, 0, len(whole))
    return decode_table(whole)[0]
