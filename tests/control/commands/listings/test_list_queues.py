from datetime import UTC, datetime

import pytest
from pamqp import commands

from pybroker.control.spec import BadArguments, Refused

Basic = commands.Basic


def test_name_and_messages_are_shown_by_default_ready_and_unacknowledged_together(operator, peer):
    # F41: the tool's `messages` counts both, declare-ok only what is ready.
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q", b"four")
    peer.get("q", no_ack=False)
    assert operator.list("list_queues") == [["q", 3]]
    counts = ("messages_ready", "messages_unacknowledged", "messages_ram")
    assert operator.list("list_queues", *counts) == [[2, 1, 3]]
    octets = ("message_bytes_ready", "message_bytes_unacknowledged", "message_bytes")
    assert operator.list("list_queues", *octets) == [[8, 4, 12]]


def test_what_lies_on_disk_alone_is_not_counted_as_held_in_memory(operator, peer):
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q", b"four")
    queue = operator.world.vhost.queues["q"]
    queue.backlog.messages_evicted, queue.backlog.octets_evicted = 2, 8
    counts = ("messages_ready", "messages_ready_ram", "messages_ram", "messages_paged_out")
    assert operator.list("list_queues", *counts) == [[3, 1, 1, 2]]
    octets = ("message_bytes", "message_bytes_ram", "message_bytes_paged_out")
    assert operator.list("list_queues", *octets) == [[12, 4, 8]]


def test_persistent_messages_are_those_that_a_restart_brings_back(operator, peer):
    peer.declare("a", durable=True)
    peer.declare("b")
    for queue in ("a", "b"):
        peer.publish("", queue, b"four", delivery_mode=2)
        peer.publish("", queue, b"twelve", delivery_mode=1)
    columns = ("name", "messages", "messages_persistent", "message_bytes", "message_bytes_persistent")
    assert operator.list("list_queues", *columns) == [["a", 2, 1, 10, 4], ["b", 2, 0, 10, 0]]


def test_columns_come_in_the_order_asked_for_also_by_commas(operator, peer):
    peer.declare("q", durable=True)
    assert operator.list("list_queues", "durable,name", "type") == [[True, "q", "classic"]]


def test_arguments_travel_with_their_types(operator, peer):
    peer.declare("q", {"x-max-length": 5, "x-overflow": "reject-publish"})
    expected = [["x-max-length", "byte", 5], ["x-overflow", "longstr", "reject-publish"]]
    assert sorted(operator.list("list_queues", "arguments")[0]) == expected


def test_an_exclusive_queue_names_its_owner(operator, peer):
    peer.declare("q", exclusive=True)
    assert operator.list("list_queues", "exclusive", "owner_pid") == [[True, peer.session.pid]]


def test_an_exclusive_consumer_is_named(operator, peer):
    peer.declare("q")
    peer.consume("q", "tag", exclusive=True)
    shown = operator.list("list_queues", "exclusive_consumer_tag", "exclusive_consumer_pid", "consumers")
    assert shown == [["tag", peer.session.pid.replace(".0>", ".1>"), 1]]
    assert operator.list("list_queues", "single_active_consumer_tag") == [""]


def test_the_single_active_consumer_is_named(operator, peer):
    peer.declare("q", {"x-single-active-consumer": True})
    peer.consume("q", "first")
    peer.consume("q", "second")
    assert operator.list("list_queues", "single_active_consumer_tag") == ["first"]


def test_capacity_is_whether_a_consumer_could_take_a_message_now(operator, peer):
    columns = ("consumer_capacity", "consumer_utilisation")
    peer.declare("q")
    assert operator.list("list_queues", *columns) == [[0.0, 0.0]]
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("q", no_ack=False)
    assert operator.list("list_queues", *columns) == [[1.0, 1.0]]
    peer.publish("", "q")
    assert operator.list("list_queues", *columns) == [[0.0, 0.0]]


def test_a_single_nodes_queues_are_online_and_local(operator, peer):
    peer.declare("q")
    assert operator.list("list_queues", "name", online=True, local=True) == ["q"]
    assert operator.list("list_queues", "name", offline=True) == []
    assert operator.list("list_queues", "leader", "members") == [["pybroker@vm", ["pybroker@vm"]]]


def test_only_the_virtual_hosts_own_queues_are_shown(operator, peer):
    peer.declare("q")
    operator.ask("add_vhost", vhost_name="v")
    assert operator.list("list_queues", vhost="v") == []


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.list("list_queues", vhost="nosuch")
    assert (refused.value.text, refused.value.exit_code) == ("Virtual host 'nosuch' does not exist", 65)


def test_unknown_columns_are_named_together(operator):
    with pytest.raises(BadArguments) as refused:
        operator.list("list_queues", "name", "zzz", "aaa")
    assert (refused.value.text, refused.value.exit_code) == ("Info key(s) aaa,zzz are not supported", 64)


def test_the_timestamp_is_that_of_the_message_that_leaves_next(operator, peer):
    peer.declare("q")
    assert operator.list("list_queues", "head_message_timestamp") == [""]
    peer.publish("", "q", timestamp=datetime.fromtimestamp(1_700_000_000, UTC))
    peer.publish("", "q")
    assert operator.list("list_queues", "head_message_timestamp") == [1_700_000_000]
    peer.get("q")
    assert operator.list("list_queues", "head_message_timestamp") == [""]


def test_memory_grows_with_the_messages(operator, peer):
    peer.declare("q")
    empty = operator.list("list_queues", "memory")[0]
    peer.publish("", "q", b"x" * 10_000)
    assert 10_000 < operator.list("list_queues", "memory")[0] - empty < 10_500


def test_rates_ages_and_when_it_is_empty_or_full_are_columns(operator, peer):
    peer.declare("q", {"x-max-length": 1_000})
    names = ("in_rate_10s", "out_rate_1m", "time_to_drain_s", "time_to_full_s", "head_age_ms", "unacknowledged_age_ms")
    assert operator.list("list_queues", *names) == [["", "", 0, "", "", ""]]
    for _ in range(20):
        for _ in range(5):
            peer.publish("", "q", b"x")
        peer.get("q")
        operator.world.advance(1_000)
    assert operator.list("list_queues", *names) == [[5.0, 1.0, "", 230, 16_000, ""]]
    peer.get("q", no_ack=False)
    operator.world.advance(1_000)
    assert operator.list("list_queues", *names)[0][-2:] == [17_000, 17_000]


def test_a_stream_counts_what_can_be_read_and_its_octets_on_disk(operator, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    for body in (b"a", b"b", b"c"):
        peer.publish("", "s", body)
    stream = operator.world.vhost.queues["s"]
    names = ("type", "messages", "messages_ready", "messages_persistent", "messages_ram", "messages_paged_out")
    assert operator.list("list_queues", *names) == [["stream", 3, 3, 3, 3, 0]]
    stream.streams.move(stream)
    assert operator.list("list_queues", *names) == [["stream", 3, 3, 3, 0, 3]]
    names = ("message_bytes", "message_bytes_ready", "message_bytes_persistent", "message_bytes_ram", "head_age_ms")
    assert operator.list("list_queues", *names) == [[stream.octets] * 3 + [0, ""]]
    assert operator.list("list_queues", "message_bytes_paged_out", "unacknowledged_age_ms") == [[stream.octets, ""]]
