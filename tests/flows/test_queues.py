"""Declare, bind, purge, delete: names, memory of the channel, equivalence (F2 to F11)."""

import re

import pytest
from pamqp import frame

from tests.fakes import Basic, Connection, FakePeer, Queue

IN = "for queue 'q' in vhost '/'"
TTL = f"inequivalent arg 'x-message-ttl' {IN}: received"


def longstr(value: str) -> bytes:
    return len(value).to_bytes(4) + value.encode()


def declare_octets(name: bytes, bits: int = 0, table: bytes = b"") -> bytes:
    """Return the frame of a queue.declare that pamqp would not make."""
    payload = b"\x00\x32\x00\x0a\x00\x00" + bytes([len(name)]) + name + bytes([bits]) + len(table).to_bytes(4) + table
    return b"\x01\x00\x01" + len(payload).to_bytes(4) + payload + b"\xce"


def test_f1_messages_leave_in_the_order_they_came(peer):
    peer.declare("q")
    for i in range(20):
        peer.publish("", "q", b"%d" % i)
    assert [m.body for m in peer.drain("q")] == [b"%d" % i for i in range(20)]


def test_f16_publish_order_of_a_channel_holds_in_every_queue(peer):
    for queue in ("a", "b"):
        peer.declare(queue)
        peer.call(Queue.Bind(queue=queue, exchange="amq.topic", routing_key="#"))
    frames = []
    for i in range(60):
        frames += peer.publish_frames("amq.topic", f"key.{i % 7}", b"%d" % i, priority=i % 3, delivery_mode=1 + i % 2)
    peer.send(*frames)
    for queue in ("a", "b"):
        assert [m.body for m in peer.drain(queue)] == [b"%d" % i for i in range(60)]


def test_f2_a_name_may_have_255_octets_of_utf8(peer):
    name = "é" * 127 + "x"
    peer.send_octets(declare_octets(name.encode()))
    peer.world.run()
    assert peer.next().queue == name
    peer.publish("", name, b"m")
    assert peer.world.vhost.queues[name].messages_ready == 1


def test_f2_malformed_utf8_is_501(peer):
    peer.send_octets(declare_octets(b"\xff\xfe"))
    peer.world.run()
    close = peer.next(0)
    assert (close.reply_code, close.reply_text) == (501, "FRAME_ERROR - Malformed UTF-8 in shortstr")


def test_f2_line_ends_are_taken_out_of_names(peer):
    peer.send_octets(declare_octets(b"a\r\nb"))
    peer.world.run()
    assert peer.next().queue == "ab"


def test_f3_the_reserved_prefix_is_403(peer):
    text = "ACCESS_REFUSED - queue name 'amq.foo' contains reserved prefix 'amq.*'"
    assert peer.error(Queue.Declare(queue="amq.foo")) == (403, text)


def test_f3_a_server_named_queue_can_be_declared_passively_only(peer):
    name = peer.declare("").queue
    assert peer.declare(name, passive=True).queue == name
    assert peer.error(Queue.Declare(queue=name))[0] == 403


def test_f4_the_server_makes_up_a_name(peer):
    names = {peer.declare("").queue for _ in range(5)}
    assert len(names) == 5
    assert all(re.fullmatch(r"amq\.gen-[A-Za-z0-9_-]{22}", name) for name in names)


def test_f4_but_not_for_a_quorum_queue(peer):
    error = peer.error(Queue.Declare(queue="", durable=True, arguments={"x-queue-type": "quorum"}))
    assert error == (406, "PRECONDITION_FAILED - Cannot declare a server-named queue for type rabbit_quorum_queue")


def test_f5_an_empty_name_is_the_last_declared_queue(peer):
    name = peer.declare("").queue
    peer.call(Queue.Bind(queue="", exchange="amq.direct", routing_key=""))
    peer.publish("amq.direct", name, b"m")  # the key became the queue's name too
    assert peer.get("").body == b"m"
    assert peer.call(Queue.Purge(queue="")).message_count == 0
    tag = peer.consume("")
    peer.call(Basic.Cancel(tag))
    assert peer.call(Queue.Delete(queue="")).message_count == 0


def test_f5_the_last_one_declared_by_name_counts_too(peer):
    peer.declare("one")
    peer.declare("two")
    peer.publish("", "two", b"m")
    assert peer.get("").body == b"m"


@pytest.mark.parametrize("method", [Queue.Bind(exchange="amq.direct"), Basic.Get(), Queue.Purge(), Queue.Delete()])
def test_f5_without_one_it_is_404(peer, method):
    assert peer.error(method) == (404, "NOT_FOUND - no previously declared queue")


def test_f5_it_is_the_channels_own_memory(peer):
    peer.declare("q")
    peer.open(2)
    assert peer.error(Basic.Get(), channel=2)[0] == 404


def test_f6_properties_are_what_was_declared(world, peer):
    peer.declare("q", {"x-max-length": 3}, durable=True, auto_delete=True)
    queue = world.vhost.queues["q"]
    assert (queue.durable, queue.exclusive, queue.auto_delete) == (True, False, True)
    assert queue.arguments == {"x-max-length": 3}


def test_f7_exclusive_wins_over_durable(world, peer):
    peer.declare("q", durable=True, exclusive=True)
    assert world.vhost.queues["q"].durable is False
    peer.declare("q", durable=True, exclusive=True)
    peer.declare("q", exclusive=True)


def test_f8_declaring_the_same_again_has_no_effect(peer):
    arguments = {"x-max-length": 5, "x-message-ttl": 60_000}
    peer.declare("q", arguments, durable=True)
    peer.publish("", "q", b"m")
    assert peer.declare("q", arguments, durable=True).message_count == 1


@pytest.mark.parametrize(
    ("flags", "arguments", "text"),
    [
        ({"durable": False}, {}, f"inequivalent arg 'durable' {IN}: received 'false' but current is 'true'"),
        (
            {"durable": True, "auto_delete": True},
            {},
            f"inequivalent arg 'auto_delete' {IN}: received 'true' but current is 'false'",
        ),
        (
            {"durable": True},
            {"x-message-ttl": 100_000},
            f"{TTL} '100000' but current is '70000'",
        ),
        (
            {"durable": True},
            {},
            f"{TTL} none but current is the value '70000' of type 'signedint'",
        ),
        (
            {"durable": True},
            {"x-message-ttl": 70_000, "x-max-length": 70_000},
            f"inequivalent arg 'x-max-length' {IN}: received the value '70000' of type 'signedint' but current is none",
        ),
        # durable is looked at before auto_delete, and both before arguments
        (
            {"auto_delete": True},
            {"x-max-length": 1},
            f"inequivalent arg 'durable' {IN}: received 'false' but current is 'true'",
        ),
    ],
)
def test_f8_a_difference_is_406_to_the_letter(peer, flags, arguments, text):
    peer.declare("q", {"x-message-ttl": 70_000}, durable=True)
    error = peer.error(Queue.Declare(queue="q", arguments=arguments, **flags))
    assert error == (406, f"PRECONDITION_FAILED - {text}")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"x-message-ttl": -1}, "{value_negative,-1}"),
        ({"x-expires": 0}, "{value_zero,0}"),
        ({"x-max-length": -5}, "{value_negative,-5}"),
        ({"x-max-priority": 256}, "{max_value_exceeded,256}"),
        ({"x-overflow": "nonsense"}, "invalid_overflow"),
        ({"x-dead-letter-routing-key": "k"}, "routing_key_but_no_dlx_defined"),
        ({"x-single-active-consumer": "yes"}, "{unacceptable_type,longstr}"),
        ({"x-max-length": "5"}, '"expected integer, got longstr"'),
    ],
)
def test_f10_arguments_are_validated(peer, arguments, fault):
    (key,) = arguments
    error = peer.error(Queue.Declare(queue="q", arguments=arguments))
    assert error == (406, f"PRECONDITION_FAILED - invalid arg '{key}' {IN}: {fault}")


def test_f10_unknown_arguments_are_kept(world, peer):
    peer.declare("q", {"x-whatever": "kept"})
    assert world.vhost.queues["q"].arguments == {"x-whatever": "kept"}


def test_f10_an_argument_of_another_type_of_queue_is_406(peer):
    error = peer.error(
        Queue.Declare(queue="q", durable=True, arguments={"x-queue-type": "quorum", "x-max-priority": 5})
    )
    assert error == (406, f"PRECONDITION_FAILED - invalid arg 'x-max-priority' {IN} of queue type rabbit_quorum_queue")


@pytest.mark.parametrize("key", ["x-queue-type", "x-max-priority"])
def test_f11_type_and_priorities_stay_as_declared(peer, key):
    first, second = {"x-queue-type": ("classic", "quorum"), "x-max-priority": (5, 6)}[key]
    peer.declare("q", {key: first}, durable=True)
    assert peer.error(Queue.Declare(queue="q", durable=True, arguments={key: second}))[0] == 406


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ({}, "non-durable"),  # F23
        ({"durable": True, "exclusive": True}, "exclusive-owner"),  # F28
        ({"durable": True, "auto_delete": True}, "auto-delete"),
    ],
)
def test_f23_f28_what_a_quorum_queue_cannot_be(peer, flags, what):
    error = peer.error(Queue.Declare(queue="q", arguments={"x-queue-type": "quorum"}, **flags))
    assert error == (406, f"PRECONDITION_FAILED - invalid property '{what}' {IN}")


def test_passive_declare_of_what_is_not_there_is_404(peer):
    assert peer.error(Queue.Declare(queue="q", passive=True)) == (404, "NOT_FOUND - no queue 'q' in vhost '/'")


def test_purge_drops_what_is_ready_only(world, peer):
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q", b"x")
    peer.get("q", no_ack=False)
    assert peer.call(Queue.Purge(queue="q")).message_count == 2
    assert world.vhost.queues["q"].messages == 1
    peer.send(Basic.Nack(1, requeue=True))
    assert peer.get("q").method.redelivered


def test_delete_counts_what_was_ready(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    assert peer.call(Queue.Delete(queue="q")).message_count == 1
    assert "q" not in world.vhost.queues


def test_deleting_what_is_not_there_is_no_error(peer):
    assert peer.call(Queue.Delete(queue="nosuch")).message_count == 0


def test_delete_if_unused_and_if_empty(peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    not_empty = (406, "PRECONDITION_FAILED - queue 'q' in vhost '/' not empty")
    assert peer.error(Queue.Delete(queue="q", if_empty=True)) == not_empty
    peer.consume("q", no_ack=True)
    peer.take()
    peer.open(2)
    in_use = (406, "PRECONDITION_FAILED - queue 'q' in vhost '/' in use")
    assert peer.error(Queue.Delete(queue="q", if_unused=True), channel=2) == in_use


def test_what_was_unacknowledged_of_a_deleted_queue_can_still_be_acked(peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    peer.get("q", no_ack=False)
    peer.call(Queue.Delete(queue="q"))
    peer.send(Basic.Ack(1))
    assert peer.take() == []


def test_a_deleted_queue_declared_again_is_a_new_one(peer):
    peer.declare("q")
    peer.publish("", "q", b"old")
    peer.get("q", no_ack=False)
    peer.publish("", "q", b"old too")
    peer.call(Queue.Delete(queue="q"))
    assert peer.declare("q", {"x-max-length": 1}).message_count == 0
    peer.send(Basic.Nack(1, requeue=True))
    assert isinstance(peer.get("q"), Basic.GetEmpty)


def test_no_wait_is_not_answered(world, peer):
    peer.send(Queue.Declare(queue="q", nowait=True), Queue.Bind(queue="q", exchange="amq.fanout", nowait=True))
    assert peer.take() == []
    assert "q" in world.vhost.queues


def test_f34_delivery_mode_2_is_persistent(world, peer):
    peer.declare("q")
    for mode in (1, 2):
        peer.publish("", "q", b"x", delivery_mode=mode)
    peer.publish("", "q", b"x")
    runs = [
        entry.run.attributes.persistent for level in world.vhost.queues["q"].backlog.levels for entry in level.ready
    ]
    assert runs == [False, True, False]
    assert [m.properties.delivery_mode for m in peer.drain("q")] == [1, 2, None]


def test_octets_may_come_one_by_one(world, peer):
    frames = [Queue.Declare(queue="q"), *peer.publish_frames("", "q", b"one by one"), Basic.Get(queue="q")]
    for octet in b"".join(frame.marshal(f, 1) for f in frames):
        peer.send_octets(bytes([octet]))
    world.run()
    assert peer.take()[1].body == b"one by one"


def test_queues_of_a_closed_connection_stay(world, peer: FakePeer):
    peer.declare("q")
    peer.publish("", "q", b"m")
    peer.call(Connection.Close(200, "", 0, 0), 0)
    assert world.connect().get("q").body == b"m"
