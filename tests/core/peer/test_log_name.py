import logging

from pybroker.core.peer import log_name


def test_a_connection_is_told_by_addresses_name_virtual_host_and_user(world, caplog):
    peer = world.connect()
    session = peer.session
    assert log_name.called(session) == session.name
    session.client_properties["connection_name"] = "billing"
    assert log_name.called(session) == f"{session.name} - billing"
    assert log_name.described(session) == f"{session.name} - billing, vhost: '/', user: 'guest'"
    with caplog.at_level(logging.INFO, "pybroker"):
        session.finish("the test ends it")
        session.peer_gone("gone")
    names = {"connection": session.name, "connection_pid": session.pid, "client_name": "billing"}
    assert {**names, "user": "guest", "vhost": "/"} == session.log_fields()
    assert ("connection.closed", session) == caplog.records[-1].event[:2]
    assert f"({session.name} - billing, vhost: '/', user: 'guest')" in caplog.text


def test_who_has_not_logged_in_has_addresses_alone(world):
    session = world.peer().session
    assert log_name.described(session) == session.name
    assert log_name.fields(session) == {"connection": session.name, "connection_pid": session.pid}
