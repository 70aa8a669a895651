"""Newcomers, and those that leave, have spare time: what waits for whom."""

import gevent
import pytest
from pamqp import commands

from tests.loop import until

Queue = commands.Queue


def test_connections_that_vanish_at_once_are_closed_when_there_is_time(connect, server):
    clients = [connect().open() for _ in range(40)]
    assert len(server.connections) == len(clients)
    for connection in list(server.connections):
        connection._peer_left("gone")
    assert len(server.connections) == 40
    until(lambda: not server.connections)
    assert not server.broker.sessions


def test_newcomers_are_read_and_answered_when_there_is_time(connect, server, monkeypatch):
    steps = []
    monkeypatch.setattr(type(server.turn.spare), "do_later", lambda _, _kind, step: steps.append(step))
    client = connect()
    client.sock.sendall(b"AMQP\0\0\x09\x01")
    for count in range(1, 5):  # let it in, read, heed, answer
        until(lambda count=count: len(steps) >= count)
        gevent.sleep(0.02)
        assert len(steps) == count  # and its event comes no more
        server.turn._in_turn(steps[-1])
    assert isinstance(client.receive(), commands.Connection.Start)


@pytest.mark.parametrize("serves", [True, False])
def test_what_can_wait_waits_for_others_and_for_its_kind(server, monkeypatch, serves):
    turn, done = server.turn, []
    monkeypatch.setattr(type(turn), "_serves", lambda _: serves)
    turn.when_spare("kind", lambda: done.append(1))
    assert done == ([] if serves else [1])
    turn.spare.do_later("kind", lambda: done.append(2))
    turn.when_spare("kind", lambda: done.append(3))
    turn.when_spare("other", lambda: done.append(0))
    until(lambda: not turn.spare)
    assert [each for each in done if each] == [1, 2, 3]
    assert (done.index(0) < done.index(2)) is not serves


@pytest.mark.parametrize(("age_ms", "restrains"), [(1_000, False), (0, True)])
def test_newcomers_are_restrained_for_those_who_have_been_there_a_while(
    connect, server, monkeypatch, age_ms, restrains
):
    monkeypatch.setattr("pybroker.net.connection.SETTLED_AFTER_MS", age_ms)
    client = connect().open()
    client.call(Queue.Declare(queue="q"))
    assert server.turn._serves() is restrains
