from pybroker.control import commands


def test_a_reset_node_has_what_a_fresh_one_has(operator, peer):
    peer.declare("q")
    peer.disconnect()
    operator.ask("add_user", username="u", password="p")
    operator.ask("add_vhost", vhost_name="v")
    assert operator.ask("reset") is None
    assert operator.list("list_queues", "name") == []
    assert operator.list("list_users") == [["guest", ["administrator"]]]
    assert operator.list("list_vhosts", "name") == ["/"]


def test_reset_wants_the_app_stopped():
    assert commands.load("reset").app == "stopped"
