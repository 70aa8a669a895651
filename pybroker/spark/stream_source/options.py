"""Options of a read of streams, by Kafka's names where Kafka has the same."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pybroker.client import Options
from pybroker.spark.stream_source.positions import Position, at_end, at_start, by_stream, by_time
from pybroker.spark.stream_source.row_filter import RowFilter
from pybroker.spark.values import OptionError, boolean, milliseconds, number, text

SOURCES: Final = ("stream", "superStream", "streamPattern")

_OFFSETS_MAX: Final = (1 << 63) - 1


def _many(value: str) -> int:
    return number(value, 1, _OFFSETS_MAX)


def _port(value: str) -> int:
    return number(value, 1, 65_535)


def _strategy(value: str) -> str:
    return text(value, "error", "latest")


def _values(value: str) -> frozenset[str]:
    """Return values with commas between them, or of a list as JSON. Raises ValueError."""
    text(value)
    if not value.lstrip().startswith("["):
        return frozenset(each.strip() for each in value.split(","))
    try:
        found = json.loads(value)
    except ValueError as error:
        raise ValueError(f"is no JSON: {error}") from None
    if not found or not all(isinstance(each, str) for each in found):
        raise ValueError('is a list of texts, such as ["eu", "us"]')
    return frozenset(found)


def _time(value: str) -> Position:
    return by_time(number(value, 0, _OFFSETS_MAX))


# Read by both.
COMMON: Final[dict[str, Callable[[str], Any]]] = {
    **dict.fromkeys(SOURCES, text),
    "streamPort": _port,
    "followAdvertised": boolean,
    "managementUri": text,
    "startingOffsets": at_start,
    "startingTimestamp": _time,
    "startingOffsetsByTimestamp": by_stream,
    "startingOffsetsByTimestampStrategy": _strategy,
    "minPartitions": number,
    "failOnDataLoss": boolean,
    "filter": _values,
    "filterHeader": text,
    "matchUnfiltered": boolean,
    "pollTimeoutMs": milliseconds,
    "reconnectTimeoutMs": milliseconds,
}
STREAMING: Final[dict[str, Callable[[str], Any]]] = {
    "maxOffsetsPerTrigger": _many,
    "minOffsetsPerTrigger": _many,
    "maxTriggerDelay": milliseconds,
    "consumerName": text,
}
BATCH: Final[dict[str, Callable[[str], Any]]] = {
    "endingOffsets": at_end,
    "endingTimestamp": _time,
    "endingOffsetsByTimestamp": by_stream,
}
_STARTING: Final = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
_ENDING: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_NAME_OCTETS_MAX: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """Options of a read of streams; times are in seconds. Exactly one of the three names is not empty.

    `client` has the address of the stream protocol's port.
    """

    client: Options
    stream: str = ""
    super_stream: str = ""
    stream_pattern: str = ""
    management_uri: str = ""
    follow_advertised: bool = True
    include_headers: bool = False
    include_properties: bool = False
    headers_format: str = "map"
    starting: Position | None = None  # None: the earliest message in batch, the next one in a stream
    ending: Position | None = None
    strategy_is_latest: bool = False
    min_partitions: int = 1
    fail_on_data_loss: bool = True
    poll_timeout_s: float = 120.0
    reconnect_timeout_s: float = 60.0
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int = 1
    trigger_delay_max_s: float = 900.0
    consumer_name: str = ""
    filter: RowFilter | None = None


def stream_options_of(values: Mapping[str, Any], client: Options, defaults: Mapping[str, Any]) -> StreamOptions:
    """Return the options of values that were read one by one. Raises OptionError where they do not go together."""
    named = [name for name in SOURCES if name in values]
    if len(named) > 1:
        raise OptionError(named[1], f"and {named[0]} exclude each other")
    if "managementUri" in values and "streamPattern" not in values:
        raise OptionError("managementUri", "is for streamPattern: a stream that is named needs no list of all")
    if len(values.get("consumerName", "").encode()) > _NAME_OCTETS_MAX:
        raise OptionError("consumerName", f"has at most {_NAME_OCTETS_MAX} octets")
    starting = _one_of(values, _STARTING)
    if "startingOffsetsByTimestampStrategy" in values and not (starting is not None and starting.is_time):
        raise OptionError("startingOffsetsByTimestampStrategy", "is for a query that begins at a time")
    if "streamPattern" in values and "managementUri" not in values and client.tls is not None:
        raise OptionError("managementUri", "is required for streamPattern with TLS: the password goes there, too")
    for name in ("filterHeader", "matchUnfiltered"):
        if name in values and "filter" not in values:
            raise OptionError(name, "is for a query with a filter")
    return StreamOptions(
        client=client,
        stream=values.get("stream", ""),
        super_stream=values.get("superStream", ""),
        stream_pattern=values.get("streamPattern", ""),
        management_uri=values.get("managementUri", ""),
        follow_advertised=values.get("followAdvertised", True),
        starting=starting,
        ending=_one_of(values, _ENDING),
        strategy_is_latest=values.get("startingOffsetsByTimestampStrategy") == "latest",
        min_partitions=values.get("minPartitions", 1),
        fail_on_data_loss=values.get("failOnDataLoss", True),
        poll_timeout_s=values.get("pollTimeoutMs", 120.0),
        reconnect_timeout_s=values.get("reconnectTimeoutMs", 60.0),
        max_offsets_per_trigger=values.get("maxOffsetsPerTrigger"),
        min_offsets_per_trigger=values.get("minOffsetsPerTrigger", 1),
        trigger_delay_max_s=values.get("maxTriggerDelay", 900.0),
        consumer_name=values.get("consumerName", ""),
        filter=_filter(values),
        **defaults,
    )


def _filter(values: Mapping[str, Any]) -> RowFilter | None:
    if "filter" not in values:
        return None
    return RowFilter(values["filter"], values.get("matchUnfiltered", False), values.get("filterHeader", ""))


def _one_of(values: Mapping[str, Any], names: tuple[str, ...]) -> Position | None:
    given = [name for name in names if name in values]
    if len(given) > 1:
        raise OptionError(given[1], f"and {given[0]} exclude each other")
    if not given:
        return None
    found: Position = values[given[0]]._replace(option=given[0])
    return found
