"""The interface that both engines of streams have."""

import inspect

from pybroker.store.streams.chunk_log import ChunkLog
from pybroker.store.streams.memory import MemoryStreamLog


def test_the_null_engine_has_all_of_it():
    for name, method in inspect.getmembers(ChunkLog, inspect.isfunction):
        assert getattr(MemoryStreamLog, name) is not method, name
        assert inspect.signature(getattr(MemoryStreamLog, name)) == inspect.signature(method), name
