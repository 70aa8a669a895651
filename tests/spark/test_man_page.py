"""The manual knows every option and column, and no other default than the code has."""

from pybroker.client import Options
from pybroker.spark import options
from pybroker.spark.credentials import CONNECTION
from pybroker.spark.options import SinkOptions, SourceOptions
from pybroker.spark.stream_source.options import StreamOptions
from tests.sources import ROOT

PAGE = (ROOT / "man/pybroker-spark.7").read_text().replace(r"\-", "-")


def test_every_option_is_explained():
    names = (*CONNECTION, *options._SOURCE, *options._STREAMING, *options._SINK, *options._OF_STREAMS)
    assert [name for name in names if name not in PAGE.partition("\n.SH OPTIONS")[2]] == []


def test_defaults_are_those_of_the_code():
    source, sink = SourceOptions(client=Options(), queue="q"), SinkOptions(client=Options())
    for name, value in (
        ("maxWaitMs", source.max_wait_s * 1_000),
        ("reconnectTimeoutMs", source.reconnect_timeout_s * 1_000),
        ("maxInFlight", sink.max_in_flight),
        ("publisherConfirmTimeoutMs", sink.confirm_timeout_s * 1_000),
        ("maxBlockedMs", sink.blocked_max_s * 1_000),
    ):
        _, _, rest = PAGE.partition(f"\n.B {name}\n")
        assert f"Default: {value:.0f}." in rest.partition("\n.TP")[0], name


def test_defaults_of_streams_are_those_of_the_code():
    given = StreamOptions(client=Options())
    for name, value in (("minPartitions", given.min_partitions), ("pollTimeoutMs", given.poll_timeout_s * 1_000)):
        _, _, rest = PAGE.partition(f"\n.B {name}\n")
        assert f"Default: {value:.0f}." in rest.partition("\n.TP")[0].partition("\n.SS")[0], name
    assert f"Default: {given.min_offsets_per_trigger}, and {given.trigger_delay_max_s * 1_000:.0f}." in PAGE


def test_every_property_is_a_column_of_the_page():
    from pybroker.spark.parse.properties import FIELDS

    assert [name for name in FIELDS if name not in PAGE] == []
