from tests.fakes import Connection, World
from tests.flows.pausing import PUBLISH, pause, resume


def test_the_peer_is_told_that_it_is_blocked():
    world = World()
    peer = world.connect()
    peer.declare("q")
    pause(world, **PUBLISH)
    peer.publish("", "q")
    blocked = peer.next(0)
    assert (type(blocked), blocked.reason) == (Connection.Blocked, "the pause of queue 'q' in vhost '/'")
    resume(world)
    assert isinstance(peer.next(0), Connection.Unblocked)


def test_a_peer_that_does_not_want_to_know_is_not_told():
    world = World()
    peer = world.connect(capabilities={})
    peer.declare("q")
    pause(world, **PUBLISH)
    peer.publish("", "q")
    assert (peer.take(0), peer.session.shown_state) == ([], "blocked")
    resume(world)
    assert (peer.take(0), world.vhost.queues["q"].messages_ready) == ([], 1)


def test_one_that_an_alarm_blocks_as_well_is_told_once():
    world = World()
    peer = world.connect()
    peer.declare("q")
    pause(world, **PUBLISH)
    peer.publish("", "q")
    world.broker.alarms.set("memory", "short")
    world.run()
    assert [type(each) for each in peer.take(0)] == [Connection.Blocked]
    resume(world)
    world.broker.alarms.clear("memory")
    world.run()
    assert [type(each) for each in peer.take(0)][-1] is Connection.Unblocked
