"""Headers of many messages: tables -> maps of strings, or variants that keep each value's type (AMQP §4.2.5.5).

Applications send few different tables, so what a table's octets gave is remembered.
"""

import base64
import json
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from math import isfinite, isnan
from typing import Any

from pybroker.errors import AmqpError
from pybroker.spark.parse.variant import encode_variant
from pybroker.wire.properties import find_headers
from pybroker.wire.table import Table, decode_table

Pairs = list[tuple[str, str | None]]


def header_maps(all_octets: Iterable[bytes]) -> list[Pairs | None]:
    """Return headers as (name, text) pairs; None where a message has none."""
    return [_map(_table_octets(octets)) for octets in all_octets]


def header_variants(all_octets: Iterable[bytes]) -> list[dict[str, bytes] | None]:
    """Return headers as value and metadata of a variant; None where a message has none."""
    return [_variant(_table_octets(octets)) for octets in all_octets]


def as_text(value: Any) -> str | None:
    """Return a header's value as a map of strings has it: JSON for lists and tables, base64 for octets."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool | dict | list):
        try:
            return _encode_json(value)
        except ValueError:
            return _encode_json(_spell(value))
    return str(value)


def _encode_json(value: Any) -> str:
    """Return a text. Raises ValueError for numbers that JSON does not have."""
    return json.dumps(value, default=as_text, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _spell(value: Any) -> Any:
    """Return a value with texts for numbers that JSON does not have, as Spark writes and reads them."""
    if isinstance(value, dict):
        return {name: _spell(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_spell(each) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _table_octets(octets: bytes) -> bytes | None:
    try:
        return find_headers(octets)
    except AmqpError:
        return None


@lru_cache(maxsize=4_096)
def _map(octets: bytes | None) -> Pairs | None:
    table = _table(octets)
    return None if table is None else [(name, as_text(value)) for name, value in table.items()]


@lru_cache(maxsize=4_096)
def _variant(octets: bytes | None) -> dict[str, bytes] | None:
    table = _table(octets)
    if table is None:
        return None
    value, metadata = encode_variant(table)
    return {"value": value, "metadata": metadata}


def _table(octets: bytes | None) -> Table | None:
    if octets is None:
        return None
    try:
        return decode_table(octets)[0]
    except AmqpError:
        return None  # as with properties: a message that cannot be read must not stand in the way
