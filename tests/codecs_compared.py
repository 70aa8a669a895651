"""Both codecs side by side, whichever the broker uses: what one says of some octets the other must say as well.

PYBROKER_CODEC names a shared object to test in place of the one that was installed: one with sanitizers.
"""

import importlib
import importlib.util
import os
from types import ModuleType
from typing import Any

import pytest

from pybroker.errors import AmqpError
from pybroker.wire.content import attributes_for, pure_encode, pure_on_channel, pure_scan

NAME = "pybroker.wire._codec"


def load() -> ModuleType | None:
    """Return the C codec, bound; None where it was not built."""
    path = os.environ.get("PYBROKER_CODEC")
    try:
        if path:
            spec = importlib.util.spec_from_file_location(NAME, path)
            assert spec is not None
            assert spec.loader is not None
            codec = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(codec)
        else:
            codec = importlib.import_module(NAME)
    except ImportError:
        assert not path
        return None
    codec.bind(attributes_for, AmqpError)
    return codec


C: Any = load()
needs_c = pytest.mark.skipif(C is None, reason="the C codec was not built")


def same_scan(
    octets: bytes, start: int, routes: dict[bytes, Any], octets_max: int, message_max: int
) -> tuple[int, list[Any]]:
    """Scan with both and return what they agree on: where they stopped, and the events."""
    events: list[Any] = []
    found: list[Any] = []
    position = pure_scan(octets, start, routes, octets_max, message_max, events)
    assert (position, events) == (C.scan(octets, start, routes, octets_max, message_max, found), found)
    for expected, event in zip(events, found, strict=True):
        assert list(map(type, expected)) == list(map(type, event))
        if event[0] is not None:
            check_sharing(expected[2], event[2])
    return position, found


def check_sharing(pure: list[bytes], contents: list[bytes]) -> None:
    """Equal neighbours are one object at least where the pure codec makes them one, and only neighbours are."""
    if len(contents) < 2:
        return
    for i in range(1, len(contents)):
        assert contents[i] is contents[i - 1] or pure[i] is not pure[i - 1]
    # Run.pack and memory_usage take the first and the last for all.
    if contents[0] is contents[-1]:
        assert all(content is contents[0] for content in contents)


def same_encode(head: bytes, first_tag: int, tail: bytes, contents: list[bytes], octets: int) -> list[bytes]:
    """Encode with both and return what they agree on, part by part."""
    out: list[bytes] = []
    found: list[bytes] = []
    counted = pure_encode(out, head, first_tag, tail, contents, octets)
    assert (counted, out) == (C.encode(found, head, first_tag, tail, contents, octets), found)
    return found


def same_on_channel(contents: list[bytes], channel: int) -> list[bytes]:
    """Give contents to another channel with both and return what they agree on."""
    found: list[bytes] = C.on_channel(contents, channel)
    assert pure_on_channel(contents, channel) == found
    return found
