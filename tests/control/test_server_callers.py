"""The control socket lets operators in, whatever other callers there are."""

import contextlib
import errno

import gevent
from gevent import select
from gevent.event import Event

from pybroker.control import codec, server as server_module
from pybroker.control.callers import CALLERS_MAX
from pybroker.control.spec import Command, NoArgs, Progress
from tests.control.test_server import Caller, listing


def test_idle_callers_do_not_lock_the_operator_out(server, monkeypatch):
    monkeypatch.setattr("pybroker.control.callers.IDLE_S_MIN", 0)
    idle = [Caller(server.path) for _ in range(CALLERS_MAX)]
    assert [one.line()["protocol"] for one in idle] == [1] * CALLERS_MAX
    assert idle[0].ask("ping")[0] == {"value": "Ping succeeded"}
    operator = Caller(server.path)
    assert operator.line()["protocol"] == 1
    assert operator.ask("ping")[0] == {"value": "Ping succeeded"}
    text = "closed while idle, because other callers were waiting"
    readable, _, _ = select.select([one.socket for one in idle], [], [], 60)
    (gone,) = [one for one in idle[1:] if one.socket in readable]
    assert gone.line() == {"error": {"text": text, "exit_code": 69}}
    assert gone.line() is None
    assert idle[0].ask("ping")[0] == {"value": "Ping succeeded"}


def test_callers_that_do_not_read_do_not_lock_the_operator_out(server, add, monkeypatch):
    monkeypatch.setattr("pybroker.control.callers.CALLERS_MAX", 2)
    monkeypatch.setattr("pybroker.control.callers.STUCK_S_MIN", 0)
    add(listing("endless", (n for n in iter(int, 1))))
    stuck = [Caller(server.path) for _ in range(2)]
    for one in stuck:
        one.line()
        one.socket.sendall(codec.encode_request("endless", {}))
    operator = Caller(server.path)
    assert operator.line()["protocol"] == 1
    assert operator.ask("ping")[0] == {"value": "Ping succeeded"}


def test_callers_that_send_octet_by_octet_do_not_lock_the_operator_out(server, monkeypatch):
    monkeypatch.setattr("pybroker.control.callers.CALLERS_MAX", 2)
    monkeypatch.setattr("pybroker.control.callers.STUCK_S_MIN", 0.3)
    slow = [Caller(server.path) for _ in range(2)]
    operator = Caller(server.path)

    def drip():
        while True:
            for one in slow:
                with contextlib.suppress(OSError):
                    one.socket.sendall(b"{")
            gevent.sleep(0.02)

    dripping = gevent.spawn(drip)
    try:
        assert operator.line()["protocol"] == 1
        assert operator.ask("ping")[0] == {"value": "Ping succeeded"}
    finally:
        dripping.kill()


def test_one_that_has_to_send_lines_is_not_let_go(server, add, monkeypatch):
    monkeypatch.setattr("pybroker.control.callers.CALLERS_MAX", 2)
    monkeypatch.setattr("pybroker.control.callers.IDLE_S_MIN", 0)
    add(Command("take", "Tests", "Tests", NoArgs, "read", "none", lambda node, _: list(node.lines), takes_lines=True))
    sender, idle = Caller(server.path), Caller(server.path)
    assert (sender.line()["protocol"], idle.line()["protocol"]) == (1, 1)
    assert idle.ask("ping")[0] == {"value": "Ping succeeded"}
    sender.socket.sendall(codec.encode_request("take", {}))
    assert sender.line() == {"send": "lines"}
    assert Caller(server.path).line()["protocol"] == 1
    assert idle.line()["error"]["exit_code"] == 69
    sender.socket.sendall(codec.encode("one") + codec.encode({"end": 1}))
    assert sender.line() == {"value": ["one"]}


def test_a_caller_that_is_served_is_not_let_go(server, add, monkeypatch):
    monkeypatch.setattr("pybroker.control.callers.CALLERS_MAX", 1)
    monkeypatch.setattr("pybroker.control.callers.IDLE_S_MIN", 0)

    began = Event()

    def work(_node, _args):
        began.set()
        for _ in range(100):
            gevent.sleep(0.001)
            yield Progress(0, 0)
        return "done"

    add(Command("slow", "Tests", "Tests", NoArgs, "read", "none", work))
    first = Caller(server.path)
    first.line()
    first.socket.sendall(codec.encode_request("slow", {}))
    began.wait()
    second = Caller(server.path)
    assert first.line() == {"value": "done"}
    assert second.line()["protocol"] == 1


def test_without_a_descriptor_the_operator_is_let_in_by_the_reserve(server, monkeypatch):
    kind = type(server._listener)
    accept, failures = kind.accept, [errno.EMFILE]

    def failing(listener):
        if failures:
            raise OSError(failures.pop(), "Too many open files")
        return accept(listener)

    monkeypatch.setattr(kind, "accept", failing)
    caller = Caller(server.path)
    assert caller.line()["protocol"] == 1
    assert len(server._reserve) == 0
    caller.file.close()
    caller.socket.close()
    while not len(server._reserve):
        gevent.sleep(0.001)
    assert len(server._reserve) == server_module.DESCRIPTORS_KEPT
