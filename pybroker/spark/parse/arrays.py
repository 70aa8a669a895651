"""Arrow's arrays of Python's values, by their buffers.

`pyarrow.array` and `pyarrow.scalar` import pandas when they are first called, if it is there: a quarter of a second and
50 MB, in each of Spark's Python processes, for what no message needs.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate

import pyarrow as pa

_INTEGERS = {pa.int32(): "i", pa.int64(): "q"}


def octets(values: Sequence[bytes], kind: pa.DataType | None = None) -> pa.Array:
    """Return an array of octets, or of another type with the same buffers. Raises OverflowError from 2 GiB on."""
    ends = array("i", accumulate(map(len, values), initial=0))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind or pa.binary(), len(values), buffers)


def texts(values: Iterable[str]) -> pa.Array:
    """Return an array of texts."""
    return octets([value.encode() for value in values], pa.string())


def flags(values: Iterable[bool]) -> pa.Array:
    """Return an array of truths."""
    bits = [*values]
    number = sum([bit << index for index, bit in enumerate(bits)])
    return pa.Array.from_buffers(
        pa.bool_(), len(bits), [None, pa.py_buffer(number.to_bytes(len(bits) // 8 + 1, "little"))]
    )


def integers(values: Iterable[int], kind: pa.DataType) -> pa.Array:
    """Return an array of integers, which `kind` has 32 or 64 bits for. Raises OverflowError."""
    numbers = array(_INTEGERS[kind], values)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])
