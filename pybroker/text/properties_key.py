"""The text that tells a binding from others between the same two ends, as RabbitMQ forms it: `key~hash`.

The hash is of the binding's arguments, and is there only with some.
"""

from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import Final
from urllib.parse import quote_plus, unquote_plus

# Long enough that two sets of arguments do not share one.
HASH_OCTETS: Final = 16


def properties_key(routing_key: str, arguments: bytes) -> str:
    """Return the text for a routing key and encoded arguments; `~` if both are empty."""
    key = quote_plus(routing_key).replace("~", "%7E")
    if not arguments:
        return key or "~"
    return f"{key}~{urlsafe_b64encode(blake2b(arguments, digest_size=HASH_OCTETS).digest()).decode().rstrip('=')}"


def is_same(key: str, other: str) -> bool:
    """Tell whether two texts mean the same: clients may have left out to escape one again as a part of a path."""
    return _parts(key) == _parts(other)


def _parts(key: str) -> tuple[str, str]:
    routing_key, _, digest = key.partition("~")
    return unquote_plus(routing_key), digest
