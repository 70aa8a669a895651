"""Peer: what is known of a client before its session begins, whatever protocol that speaks."""

from typing import NamedTuple

from pybroker.tls_facts import TlsFacts


class Peer(NamedTuple):
    """`address` and `local` are (host, port); `is_local`: it is on this machine, as the rules of loopback users say.

    `accepted_ms` is when its socket was accepted (`Clock.now_ms`): the deadline of its handshake counts from there.
    """

    address: tuple[str, int]
    local: tuple[str, int]
    is_local: bool
    accepted_ms: int
    tls: TlsFacts | None = None


def connection_name(address: tuple[str, int], local: tuple[str, int]) -> str:
    """Return `127.0.0.1:40000 -> 127.0.0.1:5672`, `[::1]:40000 -> [::1]:5672`, or `unix -> /run/a.sock`."""
    if not address[1]:
        return f"{address[0]} -> {local[0]}"
    return f"{_place(*address)} -> {_place(*local)}"


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
