"""Why a queue vanished, as the audit log is told: each way a queue can go."""

import pytest
from pamqp import commands

from pybroker.core.events.audit import Entry, document, is_logged
from pybroker.core.events.cause import Cause
from tests.fakes import World

Basic, Channel, Queue = commands.Basic, commands.Channel, commands.Queue


class Audited(World):
    """A broker whose audit log is a list."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.entries: list[Entry] = []
        self.broker.events.add_receiver(self._take)

    def _take(self, event, facts, cause, more) -> None:
        if is_logged(event, facts):
            self.entries.append(Entry(self.clock.timestamp_ms, event, facts, cause, more))

    def deletion(self) -> dict[str, object]:
        """Return the only deletion of a queue that there was."""
        [entry] = [entry for entry in self.entries if entry.event == "queue.deleted"]
        return document(entry)

    def why(self) -> tuple[str, str, str]:
        """Return cause, user and peer of the only deletion of a queue that there was."""
        found = self.deletion()
        return str(found["cause"]), str(found["user"]), str(found["peer"])


@pytest.fixture
def world() -> Audited:
    return Audited(node_name="pybroker@vm")


@pytest.fixture
def peer(world):
    return world.connect(peer=("10.0.0.7", 4711))


FROM = "10.0.0.7:4711"


def test_a_client_deletes_it(world, peer):
    peer.declare("q", durable=True)
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2")
    peer.call(Queue.Delete(queue="q"))
    assert {
        "time": "2023-11-14T22:13:20.000+00:00",
        "event": "queue.deleted",
        "vhost": "/",
        "name": "q",
        "user": "guest",
        "connection": peer.session.name,
        "peer": FROM,
        "cause": "client",
        "facts": {"durable": True, "messages": 2},
    } == world.deletion()


def test_an_operator_deletes_it(world, peer):
    peer.declare("q")
    world.vhost.delete_queue(world.vhost.queues["q"], Cause("command delete_queue", "rmq-cli", "uid 0 (pid 7)"))
    assert ("command delete_queue", "rmq-cli", "uid 0 (pid 7)") == world.why()


def test_its_last_consumer_is_cancelled(world, peer):
    peer.declare("q", auto_delete=True)
    peer.consume("q", "tag")
    peer.call(Basic.Cancel(consumer_tag="tag"))
    assert ("auto-delete: its last consumer was cancelled", "rmq-internal", FROM) == world.why()


def test_the_channel_of_its_last_consumer_closes(world, peer):
    peer.declare("q", auto_delete=True)
    peer.consume("q")
    peer.call(Channel.Close(200, "", 0, 0))
    assert ("auto-delete: the channel of its last consumer was closed", "rmq-internal", FROM) == world.why()


def test_the_channel_of_its_last_consumer_fails(world, peer):
    peer.declare("q", auto_delete=True)
    peer.consume("q")
    assert 404 == peer.error(Queue.Declare(queue="nowhere", passive=True))[0]
    assert ("auto-delete: the channel of its last consumer was closed", "rmq-internal", FROM) == world.why()


def test_the_connection_of_its_last_consumer_ends(world, peer):
    peer.declare("q", auto_delete=True)
    peer.consume("q")
    peer.disconnect()
    why, *_ = world.why()
    assert why.startswith("auto-delete: the connection of its last consumer ended: ")


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (lambda _, peer: peer.call(commands.Connection.Close(200, "", 0, 0), channel=0), "closed by the client"),
        (lambda _, peer: peer.session.peer_gone("client unexpectedly closed TCP connection"), None),
        (lambda _, peer: peer.session.close(320, "an operator"), "CONNECTION_FORCED - an operator"),
        (lambda world, _: world.advance(3_001), "missed heartbeats from client, timeout: 1s"),
        (
            lambda _, peer: peer.send(Basic.Publish(), channel=9),
            "CHANNEL_ERROR - expected 'channel.open'",
        ),
    ],
    ids=["closed", "gone", "killed", "heartbeats", "error"],
)
def test_its_exclusive_owner_is_gone(world, end, why):
    peer = world.connect(peer=("10.0.0.7", 4711), heartbeat_s=1)
    peer.declare("q", exclusive=True)
    end(world, peer)
    why = why or "client unexpectedly closed TCP connection"
    assert (f"exclusive: its connection ended: {why}", "rmq-internal", FROM) == world.why()


def test_it_expires(world, peer):
    peer.declare("q", {"x-expires": 500})
    world.advance(500)
    assert ("expired: unused for 500 ms (x-expires)", "rmq-internal", "") == world.why()


def test_its_virtual_host_is_deleted(world):
    world.broker.add_vhost("v")
    world.broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    world.connect(vhost="v").declare("q", durable=True)
    world.broker.delete_vhost("v", cause=Cause("command delete_vhost", "rmq-cli", "uid 0 (pid 7)"))
    assert ("its virtual host was deleted: command delete_vhost", "rmq-cli", "uid 0 (pid 7)") == world.why()


def test_the_node_is_reset(world, peer):
    peer.declare("q", durable=True)
    world.broker.reset(Cause("command reset", "rmq-cli", "uid 0 (pid 7)"))
    assert ("its virtual host was deleted: command reset", "rmq-cli", "uid 0 (pid 7)") == world.why()


def test_a_dead_owner_is_found_by_who_declares_it_anew(world, peer, monkeypatch):
    """F42."""
    peer.declare("q", exclusive=True)
    monkeypatch.setattr(type(peer.session), "peer_alive", lambda _: False)
    world.connect().declare("q", exclusive=True)
    why = "exclusive: its connection ended: its exclusive queue is declared again"
    assert (why, "rmq-internal", FROM) == world.why()


def test_bindings_that_go_with_it_have_its_cause(world, peer):
    peer.declare("q", {"x-expires": 500})
    peer.call(Queue.Bind(queue="q", exchange="amq.topic", routing_key="k"))
    world.advance(500)
    [gone] = [document(entry) for entry in world.entries if entry.event == "binding.deleted"]
    assert ("q", "expired: unused for 500 ms (x-expires)") == (gone["name"], gone["cause"])
    assert {"source_name": "amq.topic", "destination_kind": "queue", "routing_key": "k", "arguments": {}} == gone[
        "facts"
    ]


def test_an_exchange_that_loses_its_last_binding_says_so(world, peer):
    peer.declare("q")
    peer.call(commands.Exchange.Declare(exchange="x", auto_delete=True))
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key="k"))
    peer.call(Queue.Unbind(queue="q", exchange="x", routing_key="k"))
    [gone] = [document(entry) for entry in world.entries if entry.event == "exchange.deleted"]
    assert ("x", "auto-delete: its last binding was removed", "guest") == (gone["name"], gone["cause"], gone["user"])


def test_a_purge_is_no_deletion_but_known(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"")
    peer.call(Queue.Purge(queue="q"))
    [purge] = [document(entry) for entry in world.entries if entry.event == "queue.purged"]
    assert ("q", "guest", {"messages": 1}) == (purge["name"], purge["user"], purge["facts"])


def test_what_follows_a_client_is_not_laid_to_it(world, peer):
    peer.declare("q", {"x-expires": 500})
    world.advance(500)
    assert "" == world.deletion()["connection"]
