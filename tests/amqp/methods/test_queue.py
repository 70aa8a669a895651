"""Class queue: what flows do not tell."""

import pytest

from tests.fakes import Basic, Queue


def test_bind_twice_is_once(peer):
    peer.declare("q")
    for _ in range(2):
        peer.call(Queue.Bind(queue="q", exchange="amq.direct", routing_key="k"))
    peer.publish("amq.direct", "k", b"m")
    assert len(peer.drain("q")) == 1


def test_unbind_of_what_was_not_bound_is_no_error(peer):
    peer.declare("q")
    assert isinstance(peer.call(Queue.Unbind(queue="q", exchange="amq.direct", routing_key="k")), Queue.UnbindOk)


@pytest.mark.parametrize(
    ("method", "text"),
    [
        (Queue.Bind(queue="no", exchange="amq.direct"), "no queue 'no' in vhost '/'"),
        (Queue.Bind(queue="q", exchange="no"), "no exchange 'no' in vhost '/'"),
        (Queue.Purge(queue="no"), "no queue 'no' in vhost '/'"),
    ],
)
def test_what_is_not_there_is_404(peer, method, text):
    peer.declare("q")
    assert peer.error(method) == (404, f"NOT_FOUND - {text}")


@pytest.mark.parametrize(
    ("permissions", "methods"),
    [
        (("", ".*", ".*"), [Queue.Declare(queue="q"), Queue.Delete(queue="q")]),
        ((".*", "", ".*"), [Queue.Bind(queue="q", exchange="amq.direct")]),
        ((".*", ".*", ""), [Queue.Purge(queue="q"), Queue.Bind(queue="q", exchange="amq.direct")]),
    ],
)
def test_each_method_needs_its_permission(world, peer, permissions, methods):
    peer.declare("q")
    world.broker.users.add("u", "p")
    world.broker.users.set_permissions("u", "/", *permissions)
    other = world.connect(user="u", password="p")
    for method in methods:
        code, text = other.error(method)
        assert (code, text.endswith("refused for user 'u'")) == (403, True)


def test_declare_ok_counts_messages_and_consumers(world, peer):
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q", b"m")
    peer.consume("q", no_ack=False)
    peer.take()
    declared = world.connect().declare("q")
    assert (declared.queue, declared.message_count, declared.consumer_count) == ("q", 0, 1)


def test_a_transient_shared_queue_is_warned_about_once(peer, caplog):
    for _ in range(3):
        peer.declare("q")
        peer.call(Queue.Delete(queue="q"))
    assert len([r for r in caplog.records if "deprecated" in r.getMessage()]) == 1


def test_a_delete_asks_whether_it_is_empty_before_it_asks_whether_it_is_used(peer):
    # rabbit_amqqueue_process: handle_call({delete, ...})
    peer.declare("q")
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2")
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("q")
    peer.take()
    error = peer.error(Queue.Delete(queue="q", if_unused=True, if_empty=True))
    assert error == (406, "PRECONDITION_FAILED - queue 'q' in vhost '/' not empty")
