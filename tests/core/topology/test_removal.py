"""Removals go in shares: what others see meanwhile, and what the definitions have of it."""

import pytest
from pamqp import frame

from pybroker.core.events.cause import BROKER, because
from pybroker.core.metadata.store import save_queue
from pybroker.core.topology.exchange_declare import delete_exchange
from pybroker.core.topology.removal import FIRST_STEPS, TURN_STEPS, Removal, StillLeavingError
from tests.core.kept import again, new_broker
from tests.fakes import Basic, Channel, Connection, Exchange, Queue, World
from tests.store.records import run_of
from tests.topology import exchange, link, new_vhost, queue, reached, wired

MANY = FIRST_STEPS + 3 * TURN_STEPS


def shares(broker, condition=lambda: True):
    """Run turns until nothing goes any more; return how many those were."""
    count = 0
    while len(broker.removals):
        assert condition()
        broker.pump()
        count += 1
    return count


def bound(vhost, count=MANY, name="q"):
    found = queue(vhost, name)
    for i in range(count):
        link(vhost, "amq.topic", name, f"k.{i}")
    return found


# -- a queue ----------------------------------------------------------------------------------------------------------


def test_an_attempt_tells_what_stands_in_its_way():
    removals, removal = new_vhost().broker.removals, Removal(BROKER)

    def attempt():
        raise StillLeavingError(removal)

    assert removals.attempt(lambda: 5) == (5, None)
    assert removals.attempt(attempt) == (None, removal)


def test_what_is_little_is_gone_at_once():
    vhost = new_vhost()
    over = []
    vhost.delete_queue(bound(vhost, FIRST_STEPS - 1), call_back=lambda _: over.append(1))
    assert ([1], 0, {}) == (over, len(vhost.broker.removals), vhost.leaving)


def test_very_many_bindings_go_in_shares_and_nothing_is_routed_to_the_queue_meanwhile():
    vhost = new_vhost()
    gone, other = bound(vhost), queue(vhost, "other")
    link(vhost, "amq.topic", "other", "#")
    exchange(vhost, "x", "fanout")
    link(vhost, "x", "x:amq.topic")
    over = []
    vhost.delete_queue(gone, call_back=lambda _: over.append(1))

    def unseen():
        last = f"k.{MANY - 1}"
        return ["other"] == reached(vhost, "amq.topic", last) == reached(vhost, "x", last) and not over

    assert shares(vhost.broker, unseen) == 4
    assert [1] == over
    assert [other] == list(vhost.bound)[:1]
    assert 1 == vhost.exchanges["amq.topic"].binding_count


def test_what_only_a_deleted_queue_would_get_goes_to_the_alternate_exchange():
    vhost = new_vhost()
    exchange(vhost, "main", "direct", wired(alternate_exchange="amq.fanout"))
    gone = queue(vhost, "q")
    queue(vhost, "rest")
    link(vhost, "amq.fanout", "rest")
    for i in range(MANY):
        link(vhost, "main", "q", str(i))
    vhost.delete_queue(gone)
    shares(vhost.broker, lambda: ["rest"] == reached(vhost, "main", str(MANY - 1)))


def kept_vhost():
    vhost = new_broker().vhosts["/"]
    return vhost, vhost.broker.definitions


def declared(vhost, name):
    made = queue(vhost, name)
    save_queue(made)
    return made


def test_its_rows_go_together_in_the_end():
    vhost, definitions = kept_vhost()
    gone = declared(vhost, "q")
    for i in range(MANY):
        link(vhost, "amq.topic", "q", str(i))
    vhost.delete_queue(gone)
    shares(vhost.broker, lambda: (MANY, 1) == (len(definitions.keys("binding")), len(definitions.keys("queue"))))
    assert ([], []) == (definitions.keys("binding"), definitions.keys("queue"))


def test_a_binding_both_of_whose_ends_go_has_no_row_when_the_first_of_them_is_gone():
    vhost, definitions = kept_vhost()
    gone = declared(vhost, "q")
    exchange(vhost, "x", "direct")
    for name in ("x", "amq.topic"):
        for i in range(MANY):
            link(vhost, name, "q", str(i))
    vhost.delete_queue(gone)
    delete_exchange(vhost, None, "x", BROKER, if_unused=False)
    while definitions.keys("exchange"):
        vhost.broker.pump()
        assert [] == again(vhost.broker).notices
    assert {"amq.topic"} == {key[1] for key in definitions.keys("binding")}
    shares(vhost.broker, lambda: not again(vhost.broker).notices)
    assert [] == definitions.keys("binding")


def octets(*methods, channel=1):
    return b"".join(frame.marshal(method, channel) for method in methods)


def bind_often(peer, name, source="amq.topic"):
    binds = [Queue.Bind(queue=name, exchange=source, routing_key=str(i), nowait=True) for i in range(MANY)]
    peer.send(*binds)


@pytest.mark.parametrize("durable", [False, True])
def test_delete_ok_is_told_when_all_is_gone_and_its_name_can_be_used_again(durable):
    world = World()
    peer, other = world.connect(), world.connect()
    peer.declare("q", durable=durable)
    bind_often(peer, "q")
    tag = other.consume("q")
    peer.send_octets(octets(Queue.Delete(queue="q"), Queue.Declare(queue="q", durable=durable), Basic.Qos()))
    world.broker.pump()
    other.send_octets(octets(Queue.Declare(queue="q", durable=durable), Queue.Bind(queue="q", exchange="amq.fanout")))
    assert ([], {}, 1) == (peer.take(), world.vhost.queues, len(world.broker.removals))
    assert not peer.session.readable
    world.run()
    assert [Queue.DeleteOk, Queue.DeclareOk, Basic.QosOk] == [type(one) for one in peer.take()]
    cancel, *rest = other.take()
    assert cancel.consumer_tag == tag
    assert [Queue.DeclareOk, Queue.BindOk] == [type(one) for one in rest]
    assert ["q"] == list(world.vhost.queues)
    assert 1 == len(world.vhost.bound[world.vhost.queues["q"]])


def test_consumers_of_a_deleted_queue_are_told_in_shares_once_each():
    world = World()
    peer = world.connect()
    peer.declare("q")
    peers = [world.connect() for _ in range(3)]
    for each in peers:
        each.send(*[Basic.Consume(queue="q", consumer_tag=f"t{i}", nowait=True) for i in range(MANY // 3)])
    peers[2].send(*[Basic.Cancel(f"t{i}", nowait=True) for i in range(1, MANY // 3, 2)])
    assert 0 == peer.call(Queue.Delete(queue="q")).message_count
    told = [sum(isinstance(one, Basic.Cancel) for one in each.take()) for each in peers]
    assert [MANY // 3, MANY // 3, MANY // 3 - MANY // 6] == told
    assert [0, 0, 0] == [each.session.consumers for each in peers]


# -- an exchange ------------------------------------------------------------------------------------------------------


def test_an_exchange_goes_in_shares_and_cannot_be_published_to():
    world = World()
    peer, other = world.connect(), world.connect()
    peer.declare("q")
    peer.call(Exchange.Declare(exchange="x", exchange_type="topic"))
    bind_often(peer, "q", "x")
    peer.send_octets(octets(Exchange.Delete(exchange="x")))
    other.send_octets(octets(Exchange.Declare(exchange="x", passive=True)))
    peer.send_octets(octets(Exchange.Declare(exchange="x", exchange_type="fanout")))
    assert 1 == len(world.broker.removals)
    world.run()
    assert [Exchange.DeleteOk, Exchange.DeclareOk] == [type(one) for one in peer.take()]
    assert other.next().reply_code == 404
    assert {} == world.vhost.bound


def test_an_auto_delete_exchange_that_was_bound_again_meanwhile_stays():
    vhost = new_vhost()
    exchange(vhost, "once", "direct", auto_delete=True)
    gone = queue(vhost, "q")
    link(vhost, "once", "q", "first")
    for i in range(MANY):
        link(vhost, "amq.topic", "q", str(i))
    queue(vhost, "other")
    vhost.delete_queue(gone)
    link(vhost, "once", "other", "again")
    shares(vhost.broker)
    assert "once" in vhost.exchanges
    assert ["other"] == reached(vhost, "once", "again")


# -- a connection -----------------------------------------------------------------------------------------------------


def test_close_ok_is_told_when_the_exclusive_queues_are_gone():
    world = World()
    peer, other = world.connect(), world.connect()
    last = f"q{MANY - 1}"
    peer.send(*[Queue.Declare(queue=f"q{i}", exclusive=True, nowait=True) for i in range(MANY)])
    peer.send_octets(octets(Connection.Close(200, "", 0, 0), channel=0))
    assert len(world.vhost.queues) > TURN_STEPS
    assert [] == peer.take(0)
    other.send_octets(octets(Queue.Declare(queue=last, passive=True)))
    other.send_octets(octets(Channel.Open(), Queue.Declare(queue=last), channel=2))
    assert world.vhost.queues[last].owner is None  # nobody is told of an owner that is gone
    world.run()
    assert isinstance(peer.next(0), Connection.CloseOk)
    assert peer.session.finished
    assert other.next().reply_code == 405
    assert isinstance(other.take(2)[1], Queue.DeclareOk)
    assert [last] == list(world.vhost.queues)


def test_who_closes_and_vanishes_is_not_answered():
    world = World()
    peer = world.connect()
    peer.send(*[Queue.Declare(queue=f"q{i}", exclusive=True, nowait=True) for i in range(MANY)])
    peer.send_octets(octets(Connection.Close(200, "", 0, 0), channel=0))
    peer.disconnect()
    assert ([], {}) == (peer.take(0), world.vhost.queues)


def test_a_connection_that_vanishes_takes_its_auto_delete_queues_along_in_shares():
    world = World()
    peer = world.connect()
    for i in range(MANY):
        peer.send_octets(octets(Queue.Declare(queue=f"q{i}", auto_delete=True), Basic.Consume(queue=f"q{i}")))
    peer.session.peer_gone("the peer is gone")
    assert len(world.vhost.queues) > TURN_STEPS
    world.run()
    assert {} == world.vhost.queues


def test_a_channel_that_ends_does_so_too():
    world = World()
    peer = world.connect()
    for i in range(MANY):
        peer.send_octets(octets(Queue.Declare(queue=f"q{i}", auto_delete=True), Basic.Consume(queue=f"q{i}")))
    world.run()
    peer.take()
    peer.call(Channel.Close(reply_code=200, reply_text="", class_id=0, method_id=0))
    world.run()
    assert {} == world.vhost.queues


# -- a virtual host, a user -------------------------------------------------------------------------------------------


def test_a_virtual_host_goes_in_shares_and_can_be_made_again():
    world = World()
    broker = world.broker
    broker.add_vhost("v")
    vhost = broker.vhosts["v"]
    broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    for i in range(MANY):
        queue(vhost, f"q{i}")
        link(vhost, "amq.topic", f"q{i}", str(i))
    peer = world.connect(vhost="v")
    over = []
    broker.delete_vhost("v", lambda _: over.append(1))
    assert ("v" not in broker.vhosts, [], {"v"}) == (True, over, broker.removals.vhosts)
    assert peer.session.state == "closing"
    broker.add_vhost("v")
    again = broker.vhosts["v"]
    assert ([1], set()) == (over, broker.removals.vhosts)
    assert {} == again.queues == vhost.queues
    assert "v" not in broker.users.named("guest").permissions


def test_the_connections_of_a_deleted_user_are_closed_in_shares():
    world = World()
    world.broker.users.add("u", "x")
    world.broker.users.set_permissions("u", "/", ".*", ".*", ".*")
    peers = [world.connect(user="u", password="x") for _ in range(FIRST_STEPS + TURN_STEPS + 1)]
    over = []
    world.broker.delete_user("u", lambda _: over.append(1))
    closing = [peer.session.state for peer in peers].count("closing")
    assert (closing, over) == (FIRST_STEPS, [])
    world.run()
    assert ({"closing"}, [1]) == ({peer.session.state for peer in peers}, over)


# -- what may go wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, FIRST_STEPS, FIRST_STEPS + 5])
def test_a_bug_in_a_step_ends_it(at):
    vhost = new_vhost()
    over = []

    def steps(removal):
        removal.hold(vhost, "queue", "q")
        for count in range(MANY):
            assert count != at
            yield

    vhost.broker.removals.start(steps, because("a test"), lambda _: over.append(1))
    shares(vhost.broker)
    assert ([1], {}) == (over, vhost.leaving)


def test_a_stop_does_all_that_is_left():
    vhost = new_vhost()
    for name in ("a", "b"):
        vhost.delete_queue(bound(vhost, name=name))
    assert 2 == len(vhost.broker.removals)
    vhost.broker.removals.finish()
    assert ({}, {}) == (vhost.bound, vhost.leaving)


# -- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, MANY])
def test_the_log_forgets_the_messages_behind_the_rows(count, monkeypatch):
    """Until these are gone a crash brings the queue back, and then with what it had."""
    broker = new_broker()
    vhost = broker.vhosts["/"]
    gone = queue(vhost, "q", durable=True)
    save_queue(gone)
    for i in range(count):
        link(vhost, "amq.topic", "q", f"k.{i}")
    there = []
    texts = broker.definitions.texts
    row = ("queue", ("/", "q"))
    monkeypatch.setattr(type(broker.log), "forget_queue", lambda _, number: there.append((number, row in texts)))
    vhost.delete_queue(gone)
    if count == MANY:
        assert ([], True) == (there, row in texts)
    shares(broker)
    assert [(gone.id, False)] == there


@pytest.mark.parametrize(
    ("deleting", "again"),
    [
        (Queue.Delete(queue="q"), Queue.Delete(queue="q")),
        (Queue.Delete(queue="q"), Queue.Unbind(queue="q", exchange="x", routing_key="1")),
        (Exchange.Delete(exchange="x"), Exchange.Delete(exchange="x")),
        (Exchange.Delete(exchange="x"), Queue.Unbind(queue="q", exchange="x", routing_key="1")),
    ],
)
def test_who_asks_again_for_what_is_going_is_told_when_it_is_gone(deleting, again):
    """Until then a crash brings it back."""
    world = World()
    peer, other = world.connect(), world.connect()
    peer.declare("q", durable=True)
    peer.call(Exchange.Declare(exchange="x", exchange_type="topic", durable=True))
    bind_often(peer, "q", "x")
    peer.send_octets(octets(deleting))
    world.broker.pump()
    other.send_octets(octets(again))
    assert ([], [], 1) == (peer.take(), other.take(), len(world.broker.removals))
    world.run()
    assert (1, 1) == (len(peer.take()), len(other.take()))


def test_what_is_acknowledged_while_the_queue_goes_is_in_the_log(monkeypatch):
    """Until its row is gone a crash brings the queue back; what was promised of acknowledgements holds for it, too."""
    broker = new_broker()
    vhost = broker.vhosts["/"]
    gone = bound(vhost)
    gone.durable = True
    settled = []
    monkeypatch.setattr(type(broker.log), "settle", lambda _, number, run, indexes: settled.append(indexes))
    run = run_of([b"a", b"b"], 1)
    vhost.delete_queue(gone)
    gone.forget(run, range(1))
    shares(broker)
    gone.forget(run, range(1, 2))
    assert [range(1)] == settled
