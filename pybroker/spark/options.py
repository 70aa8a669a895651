"""Options of the connector: by name -> checked values, a sentence for each that makes no sense.

Names are Kafka's where Kafka has the same option; Spark does not keep their case, so case does not count. `credentials`
applies the values to the connection.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pybroker.client import Options
from pybroker.spark.credentials import CONNECTION, client_options
from pybroker.spark.stream.address import stream_options
from pybroker.spark.stream_source import options as streams
from pybroker.spark.values import MAP, VARIANT, OptionError, boolean, milliseconds, number, text

KAFKA_WORDS: Final = {
    "subscribe": "stream",
    "subscribePattern": "streamPattern",
    "topic": "exchange",
    "kafka.bootstrap.servers": "host",
    "groupId": "consumerName",
    "kafka.group.id": "consumerName",
}
# How often a row may be in its stream: at least once; once, by an id of each row; once, by one of each task.
OFF: Final = "off"
ROWS: Final = "rows"
TASK: Final = "task"
_SEQUENCE_MAX: Final = (1 << 31) - 1
_PUBLISHER_OCTETS_MAX: Final = 200
# Spark's own, handed on to sources and sinks; and what they begin with.
_SPARKS: Final = frozenset({"checkpointlocation", "queryname", "outputmode", "path", "paths", "mergeschema", "owner"})
_SPARKS_PREFIXES: Final = ("__", "spark.", "asyncprogresstracking", "_asyncprogresstracking")


def _headers_format(value: str) -> str:
    return text(value, MAP, VARIANT)


def _delivery_mode(value: str) -> int:
    return number(value, 1, 2)


def _exactly_once(value: str) -> str:
    return text(value, OFF, ROWS, TASK)


def _sequence(value: str) -> int:
    return number(value, 0, _SEQUENCE_MAX)


_MESSAGES: Final[dict[str, Callable[[str], Any]]] = {
    "includeHeaders": boolean,
    "includeProperties": boolean,
    "headersFormat": _headers_format,
}
_SOURCE: Final[dict[str, Callable[[str], Any]]] = {"queue": text, **_MESSAGES, "maxWaitMs": milliseconds}
_STREAMING: Final[dict[str, Callable[[str], Any]]] = {
    "spoolLocation": text,
    "maxMessagesPerTrigger": number,
    "reconnectTimeoutMs": milliseconds,
}
_SINK: Final[dict[str, Callable[[str], Any]]] = {
    "exchange": str,
    "routingKey": str,
    "deliveryMode": _delivery_mode,
    "mandatory": boolean,
    "maxInFlight": number,
    "publisherConfirmTimeoutMs": milliseconds,
    "maxBlockedMs": milliseconds,
    "messageIdPrefix": text,
    "ignoreUnknownColumns": boolean,
    "exactlyOnce": _exactly_once,
    "publisherName": text,
    "publisherSequence": _sequence,
}
# Of a sink as of a source.
_TO_STREAMS: Final = ("stream", "superStream", "streamPort", "followAdvertised")
_OF_STREAMS: Final = (*streams.COMMON, *streams.STREAMING, *streams.BATCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Options of a read; times are in seconds. `spool_location` is for streaming reads only."""

    client: Options
    queue: str
    include_headers: bool = False
    include_properties: bool = False
    headers_format: str = MAP
    max_wait_s: float = 1.0
    spool_location: str = ""
    max_messages_per_trigger: int | None = None
    reconnect_timeout_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """Options of a write; times are in seconds. None: each row has its own.

    Into a stream or a super stream, exchange and routing key are those that lead there.
    """

    client: Options
    stream_port: int | None = None
    stream: str = ""
    super_stream: str = ""
    follow_advertised: bool = True
    exactly_once: str = OFF
    publisher_name: str = ""
    publisher_sequence: int = 0
    exchange: str | None = None
    routing_key: str | None = None
    delivery_mode: int = 2
    mandatory: bool = True
    max_in_flight: int = 2_000
    confirm_timeout_s: float = 60.0
    blocked_max_s: float = 600.0
    message_id_prefix: str = ""
    ignore_unknown_columns: bool = False

    @property
    def links(self) -> Options:
        """Return options of links, with the address of the stream protocol's port."""
        # The protocol does not tell of an alarm: the broker reads no more. So a wait may be as long as both together.
        patient = replace(self.client, unconfirmed_max=self.max_in_flight, rpc_timeout_s=self.settle_timeout_s)
        return stream_options(patient, self.stream_port)

    @property
    def settle_timeout_s(self) -> float:
        """Return how long confirms by the stream protocol may take, an alarm included."""
        return self.confirm_timeout_s + self.blocked_max_s


def asks_for_streaming(given: Mapping[str, str]) -> bool:
    """Tell whether an option is there that only readStream has: a schema is asked for before Spark says which it is."""
    return _has_any(given, streams.STREAMING if asks_for_streams(given) else _STREAMING)


def asks_for_streams(given: Mapping[str, str]) -> bool:
    """Tell whether streams are to be read, not a queue."""
    return _has_any(given, streams.SOURCES)


def _has_any(given: Mapping[str, str], names: Iterable[str]) -> bool:
    return not {name.lower() for name in given}.isdisjoint(name.lower() for name in names)


def asks_for_sink(given: Mapping[str, str]) -> bool:
    """Tell whether an option is there that only a sink has."""
    return _has_any(given, _SINK)


def source_options(given: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """Return the options of a read. Raises OptionError with a sentence about the first one that is wrong."""
    elsewhere = dict.fromkeys(_SINK, "is for writing")
    elsewhere |= dict.fromkeys(_OF_STREAMS, "is for streams: name one by stream, superStream or streamPattern")
    if not streaming:
        elsewhere |= dict.fromkeys(_STREAMING, "is for readStream: a batch read only browses")
    values = _read(given, _SOURCE | _STREAMING if streaming else _SOURCE, elsewhere)
    if "queue" not in values:
        raise OptionError(
            "queue", "is required: the name of the queue to read, or stream, superStream or streamPattern"
        )
    if streaming and "spoolLocation" not in values:
        raise OptionError(
            "spoolLocation",
            "is required: a folder shared by driver and executors that holds messages between queue and sink",
        )
    return SourceOptions(
        client=client_options(given, "read"),
        queue=values["queue"],
        **_shown(values),
        max_wait_s=values.get("maxWaitMs", 1.0),
        spool_location=_folder(values.get("spoolLocation", "")),
        max_messages_per_trigger=values.get("maxMessagesPerTrigger"),
        reconnect_timeout_s=values.get("reconnectTimeoutMs", 60.0),
    )


def stream_source_options(given: Mapping[str, str], *, streaming: bool) -> streams.StreamOptions:
    """Return the options of a read of streams. Raises OptionError with a sentence about the first one that is wrong."""
    elsewhere = dict.fromkeys(_SINK, "is for writing")
    elsewhere |= dict.fromkeys((*_SOURCE, *_STREAMING), "is for queues: a query reads a queue or streams")
    elsewhere["prefetch"] = "is for queues: streams are read chunk by chunk"
    elsewhere["protocol"] = "is no choice: streams are read by the stream protocol alone"
    elsewhere["spoolLocation"] = "is for queues: what a stream has stays there, and a batch is read again from it"
    elsewhere["maxMessagesPerTrigger"] = "is for queues: of a stream it is maxOffsetsPerTrigger"
    if streaming:
        elsewhere |= dict.fromkeys(streams.BATCH, "is for batch reads: a streaming query has no end")
    else:
        elsewhere |= dict.fromkeys(streams.STREAMING, "is for readStream")
    table = streams.COMMON | _MESSAGES | (streams.STREAMING if streaming else streams.BATCH)
    values = _read(given, table, {name: why for name, why in elsewhere.items() if name not in table})
    client = stream_options(client_options(given, "read"), values.get("streamPort"))
    return streams.stream_options_of(values, client, _shown(values))


def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of messages' properties is shown."""
    return {
        "include_headers": values.get("includeHeaders", "headersFormat" in values),
        "include_properties": values.get("includeProperties", False),
        "headers_format": values.get("headersFormat", MAP),
    }


def sink_options(given: Mapping[str, str]) -> SinkOptions:
    """Return the options of a write. Raises OptionError with a sentence about the first one that is wrong."""
    elsewhere = dict.fromkeys((*_SOURCE, *_STREAMING, *_OF_STREAMS), "is for reading")
    elsewhere["queue"] = "is for reading: a queue is written to with exchange '' and its name as routingKey"
    to_streams = {name: streams.COMMON[name] for name in _TO_STREAMS}
    values = _read(given, _SINK | to_streams, {name: why for name, why in elsewhere.items() if name not in to_streams})
    _check_streams(values)
    stream, super_stream = values.get("stream"), values.get("superStream")
    return SinkOptions(
        client=client_options(given, "write"),
        stream_port=values.get("streamPort"),
        stream=stream or "",
        super_stream=super_stream or "",
        follow_advertised=values.get("followAdvertised", True),
        exactly_once=values.get("exactlyOnce", OFF),
        publisher_name=values.get("publisherName", ""),
        publisher_sequence=values.get("publisherSequence", 0),
        exchange=values.get("exchange") if stream is None and super_stream is None else super_stream or "",
        routing_key=values.get("routingKey", stream),
        delivery_mode=values.get("deliveryMode", 2),
        mandatory=values.get("mandatory", True),
        max_in_flight=values.get("maxInFlight", 2_000),
        confirm_timeout_s=values.get("publisherConfirmTimeoutMs", 60.0),
        blocked_max_s=values.get("maxBlockedMs", 600.0),
        message_id_prefix=values.get("messageIdPrefix", ""),
        ignore_unknown_columns=values.get("ignoreUnknownColumns", False),
    )


def _check_streams(values: Mapping[str, Any]) -> None:
    """Refuse options of a write that do not go together. Raises OptionError."""
    named = [name for name in ("stream", "superStream") if name in values]
    if len(named) > 1:
        raise OptionError(named[1], f"and {named[0]} exclude each other")
    if values.get("exactlyOnce", OFF) == OFF:
        for name in ("publisherName", "publisherSequence"):
            if name in values:
                raise OptionError(name, "is for exactlyOnce=rows or exactlyOnce=task")
    elif not named:
        text = f"is {values['exactlyOnce']}, which needs stream or superStream: queues do not know what they had"
        raise OptionError("exactlyOnce", text)
    elif values["exactlyOnce"] == TASK and "maxInFlight" in values:
        raise OptionError("maxInFlight", "is not for exactlyOnce=task: the rows of a task are confirmed together")
    elif not values.get("mandatory", True):
        raise OptionError("mandatory", "is false, and exactlyOnce drops no row")
    elif ("publisherName" in values) != ("publisherSequence" in values):
        raise OptionError("publisherName", "and publisherSequence belong together: whose batch it is, and which")
    if len(values.get("publisherName", "").encode()) > _PUBLISHER_OCTETS_MAX:
        raise OptionError("publisherName", f"has at most {_PUBLISHER_OCTETS_MAX} octets")
    if not named:
        for name in ("streamPort", "followAdvertised"):
            if name in values:
                raise OptionError(name, "is for streams: rows are published to an exchange by AMQP")
    for name in ("exchange", "routingKey"):
        if name in values and (name == "exchange" or "stream" in named) and named:
            raise OptionError(name, f"and {named[0]} exclude each other: that says where rows go")


def _read(
    given: Mapping[str, str], table: Mapping[str, Callable[[str], Any]], elsewhere: Mapping[str, str]
) -> dict[str, Any]:
    """Return name -> value of what is in the table; refuse what is known nowhere, or known to be of no use here."""
    by_lower = {name.lower(): name for name in (*table, *CONNECTION, *elsewhere)}
    values = {}
    for key, value in given.items():
        lower = key.lower()
        name = by_lower.get(lower)
        if name is None:
            if lower not in _SPARKS and not lower.startswith(_SPARKS_PREFIXES):
                raise _unknown(key, by_lower)
        elif name in table:
            try:
                values[name] = table[name](value)
            except ValueError as error:
                raise OptionError(name, str(error)) from None
        elif name in elsewhere:
            raise OptionError(name, elsewhere[name])
    return values


def _unknown(key: str, by_lower: Mapping[str, str]) -> OptionError:
    instead = next((word for name, word in KAFKA_WORDS.items() if name.lower() == key.lower()), None)
    if instead is None:
        import difflib  # noqa: PLC0415 - it takes longer than the rest of this module, in each of Spark's processes

        close = difflib.get_close_matches(key.lower(), by_lower, 1)
        instead = by_lower[close[0]] if close else None
    return OptionError(key, "is not an option of the connector" + (f": did you mean {instead}?" if instead else ""))


def _folder(location: str) -> str:
    """Return the path of a location. Raises OptionError."""
    path = location.removeprefix("file://")
    if path and not path.startswith("/"):
        text = f"is a folder's absolute path, of a file system that driver and executors share, not {location!r}"
        raise OptionError("spoolLocation", text)
    return path
