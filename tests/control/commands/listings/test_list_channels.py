from pamqp import commands

Basic, Confirm, Tx = commands.Basic, commands.Confirm, commands.Tx


def test_the_channels_of_all_connections_in_order(operator, peer):
    peer.open(3)
    peer.open(2)
    other = operator.world.connect()
    expected = [[peer.session.pid, 1], [peer.session.pid, 2], [peer.session.pid, 3], [other.session.pid, 1]]
    assert operator.list("list_channels", "connection", "number") == expected


def test_by_default_who_consumes_and_owes_what(operator, peer):
    peer.declare("q")
    peer.publish("", "q")
    peer.consume("q")
    pid = peer.session.pid.replace(".0>", ".1>")
    assert operator.list("list_channels") == [[pid, "guest", 1, 1]]


def test_modes_and_limits(operator, peer):
    peer.open(2)
    peer.call(Confirm.Select())
    peer.call(Tx.Select(), 2)
    peer.call(Basic.Qos(prefetch_count=7))
    peer.call(Basic.Qos(prefetch_count=9, global_=True), 2)
    columns = ("number", "confirm", "transactional", "prefetch_count", "global_prefetch_count", "messages_unconfirmed")
    assert operator.list("list_channels", *columns) == [[1, True, False, 7, 0, 0], [2, False, True, 0, 9, 0]]


def test_what_waits_for_a_commit(operator, peer):
    peer.declare("q")
    peer.publish("", "q")
    peer.call(Tx.Select())
    peer.publish("", "q")
    peer.publish("", "q")
    tag = peer.get("q", no_ack=False).method.delivery_tag
    peer.send(Basic.Ack(tag))
    columns = ("messages_uncommitted", "acks_uncommitted")
    assert operator.list("list_channels", *columns) == [[2, 1]]
    peer.call(Tx.Commit())
    assert operator.list("list_channels", *columns) == [[0, 0]]


def test_a_channels_name_ends_in_its_number(operator, peer):
    shown = operator.list("list_channels", "name", "vhost", "state")
    assert shown == [["127.0.0.1:40000 -> 127.0.0.1:5672 (1)", "/", "running"]]
