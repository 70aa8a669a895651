"""Publish frames and entries, and the module in C that reads them; PYBROKER_ENTRIES names another one."""

import importlib
import importlib.util
import os
from struct import pack
from typing import Any

import pytest
from hypothesis import strategies as st

NAME = "pybroker.wire.stream._entries"


def load() -> Any:
    """Return the module in C; None where it was not built."""
    path = os.environ.get("PYBROKER_ENTRIES")
    if not path:
        try:
            return importlib.import_module(NAME)
        except ImportError:
            return None
    spec = importlib.util.spec_from_file_location(NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


C = load()
needs_c = pytest.mark.skipif(C is None, reason="the module in C was not built")


def single(body: bytes) -> bytes:
    return pack(">L", len(body)) + body


def batch(body: bytes, count: int, codec: int = 0, unpacked: int | None = None, bits: int = 0) -> bytes:
    first = 0x80 | codec << 4 | bits
    return pack(">BHLL", first, count, len(body) if unpacked is None else unpacked, len(body)) + body


def frame(*messages: bytes, publisher: int = 7, number: int | None = None, key: int = 2, version: int = 1) -> bytes:
    body = b"".join(messages)
    n = len(messages) if number is None else number
    return pack(">LHHBL", 9 + len(body), key, version, publisher, n) + body


def message(publishing_id: int, entry: bytes) -> bytes:
    return pack(">Q", publishing_id) + entry


bodies = st.binary(max_size=40) | st.integers(0, 5_000).map(bytes)
good_entries = st.builds(single, bodies) | st.builds(
    batch, bodies, st.integers(1, 65_535), st.integers(0, 7), st.integers(0, 2**32 - 1), st.integers(0, 15)
)
