from pybroker.control import commands


def test_it_does_what_reset_does(operator, peer):
    peer.declare("q")
    assert commands.load("force_reset").app == "stopped"
    operator.daemon.app_running = False
    assert operator.ask("force_reset") is None
    assert operator.daemon.asked == ["reset"]
    assert not operator.world.vhost.queues
