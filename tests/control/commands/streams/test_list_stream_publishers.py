def test_publishers_and_their_counts(operator, world, client):
    pid = client.session.pid
    assert operator.list("list_stream_publishers") == [[pid, 1, "s", "", 0, 0, 0], [pid, 2, "s", "writer", 3, 3, 0]]


def test_refused_messages_are_counted(operator, world, client):
    world.broker.users.set_permissions("guest", "/", ".*", "^$", ".*")
    client.publish(b"a", b"b", publisher_id=1)
    assert [row[4:] for row in operator.list("list_stream_publishers")] == [[0, 0, 2], [3, 3, 0]]


def test_those_of_other_virtual_hosts_are_not(operator, world, client):
    world.broker.add_vhost("other")
    assert operator.list("list_stream_publishers", vhost="other") == []
