"""Passwords of commands: hashed and checked by the node, which may take its time, and others go on meanwhile."""

from base64 import b64decode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.spec import EX_TEMPFAIL, Node, Refused

if TYPE_CHECKING:
    from pybroker.core.auth.login import Verdict

# Pause between two looks whether a hash is there: it takes 20 ms.
PAUSE_S: Final = 0.002
# A hash tells its algorithm: Argon2's begins so, RabbitMQ's are four octets of salt and a digest.
ARGON2ID: Final = b"$argon2id$"
BY_OCTETS: Final = {
    36: "rabbit_password_hashing_sha256",
    68: "rabbit_password_hashing_sha512",
    20: "rabbit_password_hashing_md5",
}


def hashed(node: Node, password: str) -> tuple[bytes, str]:
    """Return hash and algorithm of a new password; an empty one's hash lets nobody in. Raises Refused."""
    if not password:
        return b"", BY_OCTETS[36]
    algorithm = ""

    def start(done: Callable[[Any], None]) -> None:
        nonlocal algorithm
        algorithm = node.broker.logins.hash(password, done)

    result = _awaited(node, start)
    if isinstance(result, Exception):
        raise Refused(str(result), EX_TEMPFAIL) from result
    return result, algorithm


def decoded(text: str) -> tuple[bytes, str]:
    """Return hash and algorithm of what hash_password printed, or a definitions file holds. Raises Refused."""
    try:
        octets = b64decode(text, validate=True)
    except ValueError:
        octets = b""
    algorithm = "argon2id" if octets.startswith(ARGON2ID) else BY_OCTETS.get(len(octets))
    if algorithm is None:
        # Differs from RabbitMQ: it takes anything for a hash of its configured kind, and then no password ever fits.
        raise Refused("Could not Base64 decode provided password hash value")
    return octets, algorithm


def fits(node: Node, name: str, password: str) -> bool:
    """Tell whether a password would let a user in. Raises Refused if nobody has the time to find out."""
    verdict = verdict_of(node, name, password)
    if verdict.busy:
        raise Refused(verdict.reason, EX_TEMPFAIL)
    return verdict.user is not None


def verdict_of(node: Node, name: str, password: str, peer: str = "") -> "Verdict":
    """Return what becomes of a name and a password that come from a peer's address."""
    verdict: Verdict = _awaited(node, lambda done: node.broker.logins.check(name, password, peer, lambda: True, done))
    return verdict


def _awaited(node: Node, start: Callable[[Callable[[Any], None]], object]) -> Any:
    """Return what `start` gives to the function that it is given, now or later."""
    results: list[Any] = []
    start(results.append)
    while not results:
        node.pause(PAUSE_S)
    return results[0]
