"""Connections whose publishes a paused queue withholds: nothing is read, but each can end at once."""

import gevent
import pytest
from pamqp import commands, header

from pybroker.core.events.cause import BROKER
from tests.loop import until

Basic, Confirm, Connection, Queue = commands.Basic, commands.Confirm, commands.Connection, commands.Queue


def publish() -> list:
    """Return the frames of a publish without a body."""
    return [Basic.Publish(0, "", "q"), header.ContentHeader(0, 0, Basic.Properties())]


@pytest.fixture(params=["TCP", "Unix"])
def withheld(connect, server, request, tmp_path):
    """Return a client with a few publishes to a paused queue, and its session."""
    address = str(tmp_path / "amqp.sock") if request.param == "Unix" else None
    if address:
        server.listen_unix(address)
    client = connect(address).open()
    client.call(Queue.Declare(queue="q"))
    client.call(Confirm.Select())
    queue = server.broker.vhosts["/"].queues["q"]
    server.broker.pauses.pause_queue(queue, "migration", BROKER, consume=False)
    client.send(*publish())
    (session,) = server.broker.sessions.values()
    until(lambda: not session.readable)
    client.send(*publish() * 100)
    return client, session


def messages(server) -> int:
    return server.broker.vhosts["/"].queues["q"].messages


def test_its_own_close_waits_until_the_queue_is_resumed(server, withheld):
    client, session = withheld
    client.send(Connection.Close(200, "", 0, 0), channel=0)
    gevent.sleep(0.05)
    assert (session in server.broker.sessions.values(), messages(server)) == (True, 0)
    server.broker.pauses.resume_queue(server.broker.vhosts["/"].queues["q"], BROKER)
    until(lambda: not server.connections)
    assert messages(server) == 101
    assert isinstance([*iter(client.receive, None)][-1], Connection.CloseOk)


@pytest.mark.parametrize("answers", [True, False])
def test_an_operator_closes_it_at_once_and_nothing_of_it_is_stored(server, withheld, answers):
    client, session = withheld
    session.close(320, "maintenance")
    close = client.receive()
    while not isinstance(close, Connection.Close):
        close = client.receive()
    assert close.reply_text == "CONNECTION_FORCED - maintenance"
    if answers:
        client.send(Connection.CloseOk(), channel=0)
    else:
        client.close()
    until(lambda: not server.connections)
    assert messages(server) == 0


def test_the_end_of_its_socket_is_noticed_within_a_second_and_nothing_of_it_is_stored(server, withheld):
    client, _ = withheld
    client.close()
    gevent.sleep(0.05)
    server.broker.tick()  # once a second
    until(lambda: not server.connections)
    assert messages(server) == 0
