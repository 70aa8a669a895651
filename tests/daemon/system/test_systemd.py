import os
import socket
import time

import pytest

from pybroker.daemon.system.systemd import Notifier


@pytest.fixture
def manager(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(60)
        yield listener


def environ(manager, **more):
    return {"NOTIFY_SOCKET": manager.getsockname(), **more}


def test_systemd_hears_of_the_start_and_of_the_stop(manager):
    notifier = Notifier(environ(manager))
    notifier.starting("recovering, 40 %", 60)
    notifier.ready("serving as a@b")
    notifier.stopping()
    assert manager.recv(200) == b"STATUS=recovering, 40 %\nEXTEND_TIMEOUT_USEC=60000000"
    assert manager.recv(200) == f"READY=1\nMAINPID={os.getpid()}\nSTATUS=serving as a@b".encode()
    assert manager.recv(200) == b"STOPPING=1"
    notifier.close()


def test_systemd_hears_of_a_reload_when_the_start_has_ended(manager):
    notifier = Notifier(environ(manager))
    notifier.reloading()
    notifier.reloaded("nothing is said of it")
    notifier.ready("serving")
    before_us = time.monotonic_ns() // 1_000
    notifier.reloading()
    notifier.reloaded("serving again")
    assert manager.recv(200).endswith(b"STATUS=serving")
    first, _, second = manager.recv(200).decode().partition("\n")
    assert first == "RELOADING=1"
    assert before_us <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1_000
    assert manager.recv(200) == f"READY=1\nMAINPID={os.getpid()}\nSTATUS=serving again".encode()
    notifier.close()


def test_the_watchdog_is_fed_where_there_is_one(manager):
    notifier = Notifier(environ(manager, WATCHDOG_USEC="30000000", WATCHDOG_PID=str(os.getpid())))
    assert notifier.watchdog_s == 30.0
    notifier.alive()
    assert manager.recv(200) == b"WATCHDOG=1"
    notifier.close()


@pytest.mark.parametrize("more", [{}, {"WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "x"}])
def test_no_watchdog_means_no_feeding(manager, more):
    notifier = Notifier(environ(manager, **more))
    assert notifier.watchdog_s is None
    notifier.alive()
    notifier.stopping()
    assert manager.recv(200) == b"STOPPING=1"
    notifier.close()


def test_an_abstract_address_works():
    name = f"pybroker-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name)
        listener.settimeout(60)
        notifier = Notifier({"NOTIFY_SOCKET": "@" + name})
        notifier.stopping()
        assert listener.recv(200) == b"STOPPING=1"
        notifier.close()


@pytest.mark.parametrize("given", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nowhere/at/all"}])
def test_without_systemd_nothing_is_said(given):
    notifier = Notifier(given)
    notifier.ready("x")
    notifier.alive()
    notifier.stopping()
    notifier.close()
    assert notifier.watchdog_s is None


def test_a_manager_that_went_away_is_no_error(manager, tmp_path):
    notifier = Notifier(environ(manager))
    manager.close()
    notifier.stopping()
    notifier.close()
