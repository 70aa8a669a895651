"""EXTERNAL in the configuration: it is refused unless TLS asks every client for a certificate, and verifies it."""

from collections.abc import Iterable
from typing import Final

from pybroker.core.auth.certificate import EXTERNAL
from pybroker.daemon.config.conf_file import Assignment

# The keys that make a login by certificate safe, and their values.
NEEDED: Final = {"ssl_options.verify": "verify_peer", "ssl_options.fail_if_no_peer_cert": "true"}


def find_faults(assignments: Iterable[Assignment]) -> list[str]:
    """Return a sentence for each place that asks for EXTERNAL while TLS is not safe enough for it."""
    by_key = {each.key: each for each in assignments}
    missing = [f"{key} = {value}" for key, value in NEEDED.items() if key not in by_key or by_key[key].value != value]
    if not missing:
        return []
    # Differs from RabbitMQ: it starts, asks for `verify` alone, and refuses the login.
    return [
        f"{each.where}: {each.key} = EXTERNAL: TLS configuration is unsafe: a client could do without a verified "
        f"certificate; add {' and '.join(missing)}"
        for each in by_key.values()
        if each.key.startswith("auth_mechanisms.") and each.value == EXTERNAL
    ]


def find_oddities(mechanisms: Iterable[str], *, has_tls: bool, has_plain: bool) -> list[str]:
    """Return what a start is to warn about: listeners at which nobody can log in by the mechanisms that there are."""
    mechanisms = set(mechanisms)
    if EXTERNAL in mechanisms and not has_tls:
        return ["auth_mechanisms has EXTERNAL, and there is no TLS listener: nobody can log in by certificate"]
    if mechanisms == {EXTERNAL} and has_plain:
        return ["auth_mechanisms has EXTERNAL alone: nobody can log in at the listeners without TLS"]
    return []
