"""The interface that both engines of streams have."""

import inspect

import pytest

from pybroker.store.streams.chunk_log import ChunkLog
from pybroker.store.streams.memory import MemoryStreamLog
from pybroker.store.streams.stream_log import StreamLog


@pytest.mark.parametrize("engine", [MemoryStreamLog, StreamLog])
def test_an_engine_has_all_of_it(engine):
    methods = inspect.getmembers(ChunkLog, inspect.isfunction)
    figures = inspect.getmembers(ChunkLog, lambda member: isinstance(member, property))
    assert methods
    assert figures
    for name, member in methods + figures:
        assert getattr(engine, name) is not member, name
    for name, method in methods:
        assert inspect.signature(getattr(engine, name)) == inspect.signature(method), name
