import errno
import types
from pathlib import Path

import pytest

from pybroker.daemon import listeners
from pybroker.daemon.config.values import Address
from pybroker.daemon.listeners import FREE_PORT_ATTEMPTS, check_socket_path, describe, open_tcp, open_unix
from pybroker.daemon.start_error import StartError


class FakeServer:
    """Opens nothing; `refusals` is what the system says to an (host, port), `free` the ports it hands out."""

    def __init__(self, refusals=None, free=(40_001,)):
        self.broker = types.SimpleNamespace(listeners=[])
        self.refusals = refusals or {}
        self.free = list(free)

    def listen_tcp(self, host, port, backlog, door):
        number = self.refusals.get((host, port))
        if number:
            raise OSError(number, "")
        return self._opened(
            types.SimpleNamespace(interface=host, port=port or self.free.pop(0), path="", protocol=door.protocol)
        )

    def listen_unix(self, path, backlog):
        if path in self.refusals:
            raise OSError(self.refusals[path], "")
        return self._opened(types.SimpleNamespace(interface=path, port=0, path=path))

    def _opened(self, listener):
        listener.close = lambda: None
        self.broker.listeners.append(listener)
        return listener

    @property
    def names(self):
        return [describe(listener) for listener in self.broker.listeners]


def test_all_interfaces_are_both_families_on_one_port():
    server = FakeServer()
    open_tcp(server, Address("", 0), 9)
    assert server.names == ["[::]:40001", "0.0.0.0:40001"]


@pytest.mark.parametrize("number", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
def test_a_machine_without_ipv6_gets_ipv4(number):
    server = FakeServer({("::", 5672): number, ("::1", 5672): number})
    open_tcp(server, Address("", 5672), 9)
    open_tcp(server, Address("localhost", 5672), 9)
    assert server.names == ["0.0.0.0:5672", "127.0.0.1:5672"]


def test_an_address_that_the_machine_does_not_have_is_refused():
    with pytest.raises(StartError) as caught:
        open_tcp(FakeServer({("::1", 5672): errno.EADDRNOTAVAIL}), Address("::1", 5672), 9)
    assert (caught.value.code, caught.value.text) == (
        69,
        "cannot listen on [::1]:5672: Cannot assign requested address",
    )


def test_a_port_that_one_family_lacks_is_refused_and_the_other_closed_again(monkeypatch):
    monkeypatch.setattr(listeners, "port_holder", lambda _: "")
    server = FakeServer({("0.0.0.0", 5672): errno.EADDRINUSE})
    with pytest.raises(StartError) as caught:
        open_tcp(server, Address("", 5672), 9)
    assert (caught.value.code, caught.value.text) == (
        69,
        "cannot listen on *:5672: Address already in use by another program; stop that, or choose another port",
    )
    assert server.names == []


def test_a_free_port_is_looked_for_until_it_is_free_in_both_families():
    taken = {("0.0.0.0", 40_001): errno.EADDRINUSE, ("0.0.0.0", 40_002): errno.EADDRINUSE}
    server = FakeServer(taken, free=(40_001, 40_002, 40_003))
    open_tcp(server, Address("", 0), 9)
    assert server.names == ["[::]:40003", "0.0.0.0:40003"]


def test_looking_for_a_free_port_ends():
    ports = range(40_000, 40_000 + FREE_PORT_ATTEMPTS)
    server = FakeServer({("0.0.0.0", port): errno.EADDRINUSE for port in ports}, free=ports)
    with pytest.raises(StartError):
        open_tcp(server, Address("", 0), 9)
    assert server.names == []


def test_a_low_port_needs_permission():
    with pytest.raises(StartError) as caught:
        open_tcp(FakeServer({("127.0.0.1", 72): errno.EACCES}), Address("127.0.0.1", 72), 9)
    assert (caught.value.code, caught.value.text) == (77, "cannot listen on 127.0.0.1:72: Permission denied")


def test_a_unix_socket_is_opened_or_refused():
    server = FakeServer({"/no": errno.ENOENT})
    open_unix(server, Path("/yes"), 9)
    assert server.names == ["/yes"]
    with pytest.raises(StartError) as caught:
        open_unix(server, Path("/no"), 9)
    assert caught.value.code == 73


def test_a_path_too_long_for_the_kernel_is_one_sentence():
    check_socket_path(Path("/" + "x" * 106))
    with pytest.raises(StartError) as caught:
        check_socket_path(Path("/" + "x" * 107))
    assert caught.value.code == 78
