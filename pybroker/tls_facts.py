"""TlsFacts: what TLS agreed on with a peer, in the words that RabbitMQ's tools show."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

# OpenSSL's names, of TLS 1.3 (`TLS_AES_256_GCM_SHA384`) and before (`ECDHE-RSA-AES256-GCM-SHA384`, `AES128-SHA`: there
# the keys are exchanged by RSA, and CBC is not named).
_CIPHER: Final = re.compile(
    r"(?:TLS-|(?P<exchange>(?:ECDHE|DHE|ECDH|DH|RSA|PSK|SRP)(?:-(?:ECDSA|RSA|DSS|PSK))?)-)?"
    r"(?P<cipher>(?:AES|CAMELLIA|ARIA|CHACHA)-?[0-9]+)(?:-(?P<mode>GCM|CCM-?8|CCM|POLY1305|CBC))?(?:-(?P<mac>SHA[0-9]*))?"
)


class TlsFacts(NamedTuple):
    """One peer's TLS: `protocol` is `tlsv1.3`, the next three are `any`, `aes_256_gcm`, `aead` or the like.

    `certificate` is the peer's certificate (DER) if it was verified, else empty.
    """

    protocol: str
    key_exchange: str
    cipher: str
    hash: str
    certificate: bytes


def agreed(version: str, cipher: str, certificate: bytes) -> TlsFacts:
    """Return what was agreed on, from OpenSSL's names of the version and the cipher."""
    return TlsFacts(*_named(version, cipher), certificate)


@lru_cache(64)  # there are few, and a thread that looks at a name keeps the interpreter meanwhile
def _named(version: str, cipher: str) -> tuple[str, str, str, str]:
    protocol = version.lower()
    match = _CIPHER.fullmatch(cipher.replace("_", "-"))
    if match is None:
        return protocol, "", cipher.lower(), ""
    exchange = "any" if protocol == "tlsv1.3" else (match["exchange"] or "RSA").replace("-", "_").lower()
    # CHACHA20 is one word in every name, AES-256 two.
    found = match["cipher"].lower().replace("-", "")
    if not found.startswith("chacha"):
        found = re.sub(r"([0-9]+)", r"_\1", found)
    mode = (match["mode"] or "CBC").lower().replace("-", "").replace("ccm8", "ccm_8")
    mac = (match["mac"] or "").lower() if mode == "cbc" else "aead"
    return protocol, exchange, f"{found}_{mode}", mac
