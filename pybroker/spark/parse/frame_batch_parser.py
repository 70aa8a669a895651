"""Parsing of many deliveries at once: octets -> a raw batch, without a step of Python's for each message.

`_deliveries.c` writes the buffers of Arrow's columns. Only messages of three frames (basic.deliver, header, one body),
or without a body, are read, in the layout that `deliveries` draws; the run ends in front of the first other thing.
Without the module, or with PYBROKER_PURE=1, nothing is cut: `deliveries` reads message by message.
"""

import os
from contextlib import suppress
from typing import Any, Final, NamedTuple

import pyarrow as pa

from pybroker.client.channel.content import DELIVER
from pybroker.spark.parse.raw import SCHEMA, take_routes
from pybroker.spark.route import read_route

# One channel, one consumer: so all that varies in front of a delivery is numbers, and stands at fixed places.
CHANNEL: Final = 1
CONSUMER_TAG: Final = "~spark"
DELIVER_TO_US: Final = DELIVER + len(CONSUMER_TAG).to_bytes(1) + CONSUMER_TAG.encode()
ROUTE_OCTETS_MIN: Final = 3
ROUTE_OCTETS_MAX: Final = 513
# The version of the interface that `_deliveries.c` shares with this file: one that was built for an older is not used.
SEAM: Final = 1


def _choose() -> Any:
    """Return the function of the C module, None where there is none."""
    if os.environ.get("PYBROKER_PURE") != "1":
        with suppress(ImportError):
            from pybroker.spark.parse import _deliveries  # noqa: PLC0415 - it may be missing

            if _deliveries.SEAM == SEAM:
                return _deliveries.cut
    return None


_cut: Final = _choose()
CUTS: Final = _cut is not None


class Cut(NamedTuple):
    """A run of messages: where it ends in the octets, and its last delivery tag."""

    batch: pa.RecordBatch
    end: int
    last_tag: int


def cut(data: bytes, at: int, frame_octets_max: int) -> Cut | None:
    """Return the messages that follow each other from `at` on, None if there is none.

    A message that has not come whole is not in it. Raises ProtocolSyntaxError (502).
    """
    found = _cut(data, at, frame_octets_max, DELIVER_TO_US, CHANNEL)
    if found is None:
        return None
    rows, end, last_tag, value_ends, values, property_ends, properties, numbers, routes = found
    indexes = pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(numbers)])
    arrays = [
        _binary(rows, value_ends, values),
        *take_routes([read_route(octets) for octets in routes], indexes),
        _binary(rows, property_ends, properties),
    ]
    return Cut(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA), end, last_tag)


def _binary(rows: int, ends: bytes, octets: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(ends), pa.py_buffer(octets)])
