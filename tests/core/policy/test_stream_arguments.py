"""Arguments of streams and of their consumers."""

import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from pybroker.core.policy.arguments import (
    check_consume_arguments,
    check_declare_arguments,
    check_stream_sizes,
    queue_limits,
)
from pybroker.errors import PreconditionFailed
from tests.topology import new_vhost, queue, refusal, wired

STREAM = {"x_queue_type": "stream"}


def stream_named(name: str) -> Any:
    limits = queue_limits(wired(**STREAM), "stream")
    return SimpleNamespace(name=name, vhost=new_vhost(), limits=limits)


def test_a_streams_arguments_come_to_limits(caplog):
    sizes = {"x_max_length_bytes": 800, "x_stream_filter_size_bytes": 17, "x_initial_cluster_size": 1}
    arguments = wired(x_max_age="0007D", **sizes, **STREAM)
    with caplog.at_level(logging.WARNING, "pybroker"):
        assert check_declare_arguments(new_vhost(), "q", arguments) == "stream"
    assert [record.message for record in caplog.records] == [
        "argument 'x-initial-cluster-size' of queue 'q' in vhost '/' has no effect here",
    ]
    limits = queue_limits(arguments, "stream")
    assert (limits.octets_max, limits.age_max_ms, limits.segment_octets_max) == (800, 604_800_000, None)
    assert (limits.filter_octets, queue_limits(STREAM, "stream").filter_octets) == (17, 16)


def test_a_filter_size_is_unknown_where_there_are_no_filters(caplog):
    with caplog.at_level(logging.WARNING, "pybroker"):
        check_declare_arguments(new_vhost(), "q", wired(x_stream_filter_size_bytes=5))
    assert [record.message for record in caplog.records] == [
        "argument 'x-stream-filter-size-bytes' of queue 'q' in vhost '/' is unknown: stored, but without effect",
    ]


def test_a_streams_sizes_are_in_range():
    for key, wrong, text in (
        ("x-stream-max-segment-size-bytes", 3_000_000_001, "Exceeded max value for x-stream-max-segment-size-bytes"),
        ("x-stream-filter-size-bytes", 15, "Invalid value for  x-stream-filter-size-bytes"),
        ("x-stream-filter-size-bytes", 256, "Invalid value for  x-stream-filter-size-bytes"),
    ):
        check_stream_sizes("classic", wired(**{key: wrong}))
        with pytest.raises(PreconditionFailed) as error:
            check_stream_sizes("stream", wired(**{key: wrong}))
        assert refusal(error.value) == (406, text)
    check_stream_sizes("stream", wired(x_stream_filter_size_bytes=255, x_stream_max_segment_size_bytes=3_000_000_000))


WRONG_OFFSETS = [
    ("1x", '{longstr,<<"1x">>}'),
    ("0h", '{longstr,<<"0h">>}'),
    ("5", '{longstr,<<"5">>}'),
    ("1h30m", '{longstr,<<"1h30m">>}'),
    ("FIRST", '{longstr,<<"FIRST">>}'),
    ("", "{longstr,<<>>}"),
    (True, "{bool,true}"),
    (1.5, "{double,1.5}"),
    (None, "{void,undefined}"),
    ([1], "{array,[{signedint,1}]}"),
]


@pytest.mark.parametrize(("sent", "printed"), WRONG_OFFSETS)
def test_values_that_are_no_offset_are_refused(sent, printed):
    with pytest.raises(PreconditionFailed) as error:
        check_consume_arguments(stream_named("s"), wired(x_stream_offset=sent))
    text = f"invalid arg 'x-stream-offset' for queue 's' in vhost '/': {{invalid_stream_offset_arg,{printed}}}"
    assert refusal(error.value) == (406, text)


@pytest.mark.parametrize(
    "sent",
    [
        "first",
        b"first",
        "last",
        "next",
        0,
        -5,
        2**40,
        "1h",
        "5m",
        "10s",
        "1Y",
        "1M",
        "1D",
        datetime(2026, 1, 1, tzinfo=UTC),
    ],
)
def test_offsets_pass(sent):
    check_consume_arguments(stream_named("s"), wired(x_stream_offset=sent))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (wired(x_priority=5), "'x-priority' for queue 's' in vhost '/' of queue type rabbit_stream_queue"),
        (
            wired(x_cancel_on_ha_failover=True),
            "'x-cancel-on-ha-failover' for queue 's' in vhost '/' of queue type rabbit_stream_queue",
        ),
        (wired(x_stream_filter=5), "'x-stream-filter' for queue 's' in vhost '/': {unacceptable_type,signedint}"),
        (
            wired(x_stream_filter=["a", True]),
            "'x-stream-filter' for queue 's' in vhost '/': {unacceptable_type,bool}",
        ),
        (
            wired(x_stream_match_unfiltered="a"),
            "'x-stream-match-unfiltered' for queue 's' in vhost '/': {unacceptable_type,longstr}",
        ),
    ],
)
def test_bad_arguments_of_a_streams_consumer_are_refused(arguments, text):
    with pytest.raises(PreconditionFailed) as error:
        check_consume_arguments(stream_named("s"), arguments)
    assert refusal(error.value) == (406, f"invalid arg {text}")


def test_good_and_unknown_arguments_of_a_streams_consumer_pass():
    arguments = wired(x_stream_filter=["a", "b"], x_stream_match_unfiltered=True, x_mine=1, x_credit={"a": 1})
    check_consume_arguments(stream_named("s"), arguments)
    check_consume_arguments(queue(new_vhost(), "q"), wired(x_stream_filter="a", x_stream_match_unfiltered=True))
