import pickle

import pytest

from pybroker.client import Address
from pybroker.spark.options import (
    asks_for_streaming,
    asks_for_streams,
    sink_options,
    source_options,
    stream_source_options,
)
from pybroker.spark.values import OptionError

SPOOL = {"queue": "q", "spoolLocation": "/spool"}


def test_a_queue_is_enough_to_browse():
    options = source_options({"queue": "q"}, streaming=False)
    assert (options.queue, options.include_headers, options.include_properties) == ("q", False, False)
    assert options.client.addresses == (Address("localhost", 5672),)
    assert (options.client.recovery, options.client.connection_name) == (False, "spark:read")


def test_case_does_not_count_as_spark_does_not_keep_it():
    options = source_options({"QUEUE": "q", "includeheaders": "TRUE", "HeadersFormat": "Variant"}, streaming=False)
    assert (options.queue, options.include_headers, options.headers_format) == ("q", True, "variant")


def test_a_stream_has_a_spool_and_limits():
    given = {"queue": "q", "spoolLocation": "file:///spool/x", "maxMessagesPerTrigger": "10", "maxWaitMs": "1500"}
    options = source_options(given | {"reconnectTimeoutMs": "0"}, streaming=True)
    assert (options.spool_location, options.max_messages_per_trigger) == ("/spool/x", 10)
    assert (options.max_wait_s, options.reconnect_timeout_s) == (1.5, 0.0)


def test_a_sink_waits_fails_on_returns_and_is_persistent_by_default():
    options = sink_options({"checkpointLocation": "/c"})
    assert (options.mandatory, options.delivery_mode, options.max_in_flight) == (True, 2, 2_000)
    assert (options.confirm_timeout_s, options.blocked_max_s) == (60.0, 600.0)
    assert sink_options({"exchange": ""}).exchange == ""


def test_options_travel_to_executors():
    options = source_options(SPOOL | {"password": "secret"}, streaming=True)
    assert pickle.loads(pickle.dumps(options)) == options
    assert "secret" not in repr(options)


@pytest.mark.parametrize(
    "name",
    ["path", "checkpointLocation", "queryName", "outputMode", "__provider", "asyncProgressTrackingEnabled", "spark.x"],
)
def test_options_of_sparks_own_are_none_of_ours(name):
    assert source_options({"queue": "q", name: "x"}, streaming=False).queue == "q"
    assert source_options(SPOOL | {name: "x"}, streaming=True).queue == "q"
    assert sink_options({"exchange": "e", name: "x"}).exchange == "e"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "option queue is required: the name of the queue to read, or stream, superStream or streamPattern"),
        ({"queue": ""}, "option queue is empty"),
        ({"queue": "q", "includeHeaders": "yes"}, "option includeHeaders is true or false, not 'yes'"),
        ({"queue": "q", "headersFormat": "json"}, "option headersFormat is map or variant, not 'json'"),
        ({"queue": "q", "maxWaitMs": "-1"}, "option maxWaitMs must be an integer from 0 to 2147483647, not '-1'"),
        ({"queue": "q", "exchange": "e"}, "option exchange is for writing"),
        ({"queue": "q", "qeue": "e"}, "option qeue is not an option of the connector: did you mean queue?"),
        ({"subscribe": "q"}, "option subscribe is not an option of the connector: did you mean stream?"),
        (
            {"queue": "q", "spoolLocation": "/x"},
            "option spoolLocation is for readStream: a batch read only browses",
        ),
    ],
)
def test_a_batch_read_names_the_option_that_is_wrong(given, sentence):
    with pytest.raises(OptionError) as caught:
        source_options(given, streaming=False)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"queue": "q"}, "spoolLocation"),
        ({"queue": "q", "spoolLocation": "s3a://bucket/x"}, "spoolLocation"),
        ({"queue": "q", "spoolLocation": "relative"}, "spoolLocation"),
        (SPOOL | {"maxMessagesPerTrigger": "0"}, "maxMessagesPerTrigger"),
        (SPOOL | {"mandatory": "true"}, "mandatory"),
    ],
)
def test_a_streaming_read_names_the_option_that_is_wrong(given, name):
    with pytest.raises(OptionError) as caught:
        source_options(given, streaming=True)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"queue": "q"},
            "option queue is for reading: a queue is written to with exchange '' and its name as routingKey",
        ),
        ({"spoolLocation": "/x"}, "option spoolLocation is for reading"),
        ({"deliveryMode": "3"}, "option deliveryMode must be an integer from 1 to 2, not '3'"),
        ({"topic": "e"}, "option topic is not an option of the connector: did you mean exchange?"),
    ],
)
def test_a_write_names_the_option_that_is_wrong(given, sentence):
    with pytest.raises(OptionError) as caught:
        sink_options(given)
    assert str(caught.value) == sentence


def refused(given, *, streaming=False):
    with pytest.raises(OptionError) as caught:
        stream_source_options(given, streaming=streaming)
    return str(caught.value)


def test_a_stream_is_enough():
    options = stream_source_options({"stream": "s"}, streaming=True)
    assert (options.stream, options.starting, options.fail_on_data_loss, options.min_partitions) == ("s", None, True, 1)
    assert options.client.addresses == (Address("localhost", 5552),)
    by_tls = stream_source_options({"superstream": "s", "tls": "true"}, streaming=False)
    assert by_tls.client.addresses == (Address("localhost", 5551),)
    other = stream_source_options({"stream": "s", "uri": "amqp://mq:1234", "streamPort": "9"}, streaming=False)
    assert other.client.addresses == (Address("mq", 9),)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"stream": "s", "superStream": "t"}, "option superStream and stream exclude each other"),
        (
            {"stream": "s", "startingOffsets": "latest", "startingTimestamp": "1"},
            "option startingTimestamp and startingOffsets exclude each other",
        ),
        ({"stream": "s", "queue": "q"}, "option queue is for queues: a query reads a queue or streams"),
        ({"stream": "s", "maxOffsetsPerTrigger": "1"}, "option maxOffsetsPerTrigger is for readStream"),
        ({"stream": "s", "exchange": "e"}, "option exchange is for writing"),
        ({"stream": "s", "prefetch": "1"}, "option prefetch is for queues: streams are read chunk by chunk"),
        (
            {"stream": "s", "protocol": "amqp"},
            "option protocol is no choice: streams are read by the stream protocol alone",
        ),
        ({"subscribe": "s"}, "option subscribe is not an option of the connector: did you mean stream?"),
        (
            {"stream": "s", "managementUri": "http://mq"},
            "option managementUri is for streamPattern: a stream that is named needs no list of all",
        ),
        (
            {"stream": "s", "startingOffsets": "last"},
            "option startingOffsets is earliest, first, latest, next or JSON such as {\"orders-0\": 23}, not 'last'",
        ),
    ],
)
def test_what_makes_no_sense_of_streams_is_refused(given, sentence):
    assert refused(given) == sentence


def test_a_streaming_query_has_no_end():
    given = {"stream": "s", "endingOffsets": "latest", "consumerName": "c"}
    assert refused(given, streaming=True) == "option endingOffsets is for batch reads: a streaming query has no end"
    assert (
        refused({"stream": "s", "consumerName": "c" * 256}, streaming=True)
        == "option consumerName has at most 255 octets"
    )


def test_options_of_streams_are_refused_for_a_queue():
    with pytest.raises(OptionError, match="is for streams: name one by stream, superStream or streamPattern"):
        source_options({"queue": "q", "startingOffsets": "latest"}, streaming=False)


def test_the_options_tell_whether_a_schema_is_a_streams():
    assert asks_for_streaming({"SPOOLLOCATION": "/x"})
    assert not asks_for_streaming({"queue": "q"})
    assert asks_for_streaming({"stream": "s", "maxoffsetspertrigger": "1"})
    assert asks_for_streaming({"queue": "q", "reconnectTimeoutMs": "1"})
    assert not asks_for_streaming({"stream": "s", "reconnectTimeoutMs": "1"})
    assert asks_for_streams({"SUPERSTREAM": "s"})
    assert not asks_for_streams({"queue": "q"})


def test_a_sink_of_streams_knows_where_rows_go():
    options = sink_options({"stream": "s", "exactlyOnce": "rows", "streamPort": "5999", "host": "h"})
    assert ("", "s", "s", "rows") == (options.exchange, options.routing_key, options.stream, options.exactly_once)
    assert (Address("h", 5999),) == options.links.addresses
    options = sink_options({"superStream": "o"})
    assert ("o", None, "o", "off") == (
        options.exchange,
        options.routing_key,
        options.super_stream,
        options.exactly_once,
    )
    assert (Address("localhost", 5552),) == options.links.addresses


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"exchange": "e", "exactlyOnce": "rows"}, "exactlyOnce is rows, which needs stream or superStream"),
        ({"stream": "s", "exactlyOnce": "once"}, "exactlyOnce"),
        ({"stream": "s", "superStream": "o"}, "superStream and stream exclude each other"),
        ({"stream": "s", "exchange": "e"}, "exchange and stream exclude each other"),
        ({"stream": "s", "routingKey": "k"}, "routingKey and stream exclude each other"),
        ({"stream": "s", "exactlyOnce": "task", "mandatory": "false"}, "mandatory is false, and exactlyOnce"),
        ({"stream": "s", "exactlyOnce": "task", "maxInFlight": "9"}, "maxInFlight is not for exactlyOnce=task"),
        ({"stream": "s", "publisherName": "p"}, "publisherName is for exactlyOnce=rows or exactlyOnce=task"),
        ({"exchange": "e", "streamPort": "5999"}, "streamPort is for streams"),
        ({"stream": "s", "exactlyOnce": "rows", "publisherName": "p"}, "publisherName and publisherSequence belong"),
        (
            {"stream": "s", "exactlyOnce": "rows", "publisherName": "p" * 201, "publisherSequence": "1"},
            "publisherName has at most 200 octets",
        ),
    ],
)
def test_a_sink_refuses_what_does_not_hold(given, text):
    with pytest.raises(OptionError, match=text):
        sink_options(given)
