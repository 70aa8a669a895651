"""Entries of the stream protocol for tests: messages with a length in front, and what is read back of them."""

import struct

from pybroker.content_view import body
from pybroker.entries_run import EntriesRun
from pybroker.run import Run


def entries(*bodies: bytes) -> bytes:
    """Return messages as entries."""
    return b"".join([struct.pack(">I", len(each)) + each for each in bodies])


def batch(*bodies: bytes, codec: int = 0) -> bytes:
    """Return an entry that is a sub-batch."""
    data = entries(*bodies)
    return struct.pack(">BHII", 0x80 | codec << 4, len(bodies), len(data), len(data)) + data


def entries_run(first_seq: int, *bodies: bytes, arrived_ms: int = 0, bloom: bytes | None = None) -> EntriesRun:
    """Return a run of messages with these bodies, one an entry."""
    data = entries(*bodies)
    return EntriesRun(first_seq, [data], len(bodies), len(bodies), len(data), arrived_ms, bloom=bloom)


def bodies_of(run: Run) -> list[bytes]:
    """Return the bodies of a run of either kind."""
    if not isinstance(run, EntriesRun):
        return [body(content) for content in run.contents_at(range(run.count))]
    found, at, data = [], 0, run.data
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        found.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    assert (len(found), at) == (run.count, len(data))
    return found
