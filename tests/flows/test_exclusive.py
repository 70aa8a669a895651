"""Exclusive queues and exclusive consumers: two different things (G23)."""

from tests.fakes import Basic, Channel, Connection, Queue

LOCKED = (
    "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be originally "
    "declared on another connection or the exclusive property value does not match that of the original declaration."
)
IN_USE = "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"


def test_f27_an_exclusive_queue_is_for_its_connection(world, peer):
    peer.declare("q", exclusive=True)
    other = world.connect()
    for method in (
        Queue.Declare(queue="q"),
        Queue.Declare(queue="q", exclusive=True),
        Queue.Declare(queue="q", passive=True),
        Queue.Bind(queue="q", exchange="amq.direct", routing_key="k"),
        Queue.Purge(queue="q"),
        Queue.Delete(queue="q"),
        Basic.Get(queue="q"),
        Basic.Consume(queue="q"),
    ):
        assert other.error(method) == (405, LOCKED), method


def test_f27_others_may_publish_to_it(world, peer):
    peer.declare("q", exclusive=True)
    world.connect().publish("", "q", b"m")
    assert peer.get("q").body == b"m"


def test_f27_all_channels_of_the_connection_may_use_it(peer):
    peer.declare("q", exclusive=True)
    peer.open(2)
    peer.publish("", "q", b"m")
    assert peer.get("q", channel=2).body == b"m"


def test_f27_a_shared_queue_cannot_be_declared_exclusive(peer):
    peer.declare("q")
    assert peer.error(Queue.Declare(queue="q", exclusive=True)) == (405, LOCKED)


def test_f29_it_goes_with_the_connection_not_with_the_channel(world, peer):
    # F24
    peer.declare("q", exclusive=True)
    peer.call(Channel.Close(200, "", 0, 0))
    assert "q" in world.vhost.queues
    peer.call(Connection.Close(200, "", 0, 0), 0)
    assert "q" not in world.vhost.queues


def test_f29_it_goes_when_the_socket_is_lost(world, peer):
    peer.declare("q", exclusive=True)
    peer.disconnect()
    assert "q" not in world.vhost.queues


def test_f42_a_redeclare_meets_no_dead_owner(world, peer, monkeypatch):
    # the owner's socket is gone, and nobody has told us yet
    peer.declare("q", exclusive=True)
    monkeypatch.setattr(type(peer.session), "peer_alive", lambda session: session is not peer.session)
    other = world.connect()
    assert other.declare("q", exclusive=True).queue == "q"
    assert peer.session.finished
    assert world.vhost.queues["q"].owner is other.session


def test_f42_a_living_owner_keeps_it(world, peer):
    peer.declare("q", exclusive=True)
    assert world.connect().error(Queue.Declare(queue="q", exclusive=True)) == (405, LOCKED)


def test_f42_a_reconnect_finds_the_name_free(world, peer):
    for _ in range(5):
        peer.declare("q", exclusive=True, auto_delete=True)
        peer.consume("q")
        peer.disconnect()
        peer = world.connect()


def test_g22_an_exclusive_consumer_is_refused_where_there_is_one(world, peer):
    peer.declare("q")
    peer.consume("q")
    assert world.connect().error(Basic.Consume(queue="q", exclusive=True)) == (403, IN_USE)


def test_g22_it_keeps_others_away(world, peer):
    peer.declare("q")
    tag = peer.consume("q", exclusive=True)
    other = world.connect()
    assert other.error(Basic.Consume(queue="q")) == (403, IN_USE)
    peer.call(Basic.Cancel(tag))
    other.consume("q")


def test_g23_an_exclusive_queue_on_a_fanout_hears_while_it_lives(world, peer):
    name = peer.declare("", exclusive=True).queue
    peer.call(Queue.Bind(queue=name, exchange="amq.fanout"))
    peer.consume(name, no_ack=True)
    other = world.connect()
    other.publish("amq.fanout", "", b"heard")
    assert peer.bodies() == [b"heard"]
    peer.disconnect()
    other.publish("amq.fanout", "", b"unheard", mandatory=True)
    assert other.take()[0].method.reply_code == 312


def test_single_active_consumer_serves_one_and_then_the_next(world, peer):
    peer.declare("q", {"x-single-active-consumer": True})
    first, second = world.connect(), world.connect()
    first.consume("q", no_ack=True)
    second.consume("q", no_ack=True)
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
    assert (first.bodies(), second.bodies()) == ([b"0", b"1", b"2"], [])
    first.disconnect()
    peer.publish("", "q", b"3")
    assert second.bodies() == [b"3"]


def test_an_exclusive_consumer_of_a_single_active_queue_is_refused(peer):
    peer.declare("q", {"x-single-active-consumer": True})
    assert peer.error(Basic.Consume(queue="q", exclusive=True)) == (403, IN_USE)
