"""Steps of a login that all protocols share: what we say of ourselves, the check, when a refusal is answered."""

import platform
from functools import lru_cache, partial
from secrets import randbelow
from typing import TYPE_CHECKING, Final

from pybroker.core.auth.certificate import EXTERNAL
from pybroker.version import RABBITMQ_VERSION, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.auth.login import Verdict
    from pybroker.core.peer.session import PeerSession

# A refused login is answered so much later, counted from the attempt: guessing is slow, and takes a socket a guess.
# Differs from RabbitMQ: over AMQP it answers at once and keeps the socket for 3 seconds, over the stream protocol it
# answers after 3 seconds.
REFUSAL_MS_MIN: Final = 1_000
REFUSAL_MS_MAX: Final = 3_000


def refusal_at_ms(session: "PeerSession") -> int:
    """Return when an attempt of now is answered if it is refused; that tells nothing about the cost of its check."""
    return session.broker.clock.now_ms + REFUSAL_MS_MIN + randbelow(REFUSAL_MS_MAX - REFUSAL_MS_MIN)


@lru_cache(2)
def server_properties(product: str, cluster_name: str) -> dict[str, str]:
    """Return what we say of ourselves. Callers must not change it."""
    return {
        "cluster_name": cluster_name,
        "copyright": "The pybroker authors",
        "information": "Licensed under the Apache License 2.0",
        "platform": f"pybroker {VERSION} / Python {platform.python_version()}",
        "product": product,
        "pybroker_version": VERSION,
        "version": RABBITMQ_VERSION,
    }


def check_login(
    session: "PeerSession",
    mechanism: str,
    credentials: tuple[str, str],
    is_waiting: "Callable[[], bool]",
    done: "Callable[[str, Verdict], None]",
) -> None:
    """Find out whose credentials or certificate these are; call `done(name, verdict)` if the peer still waits then.

    Begins when there is time for it, apart from the reading of what the peer sent.
    """
    logins = session.broker.logins

    def checked(name: str, verdict: "Verdict") -> None:
        if is_waiting():
            done(name, logins.decide(verdict, name, session))

    def check() -> None:
        if not is_waiting():
            return
        if mechanism == EXTERNAL:
            checked(*logins.check_certificate(session.tls))
            return
        name, password = credentials
        logins.check(name, password, session.peer_host, is_waiting, partial(checked, name))

    session.turn.when_spare("login", check)
