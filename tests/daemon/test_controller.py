"""Requests of commands to the daemon, and what it refuses."""

import os
from types import SimpleNamespace

import pytest

from pybroker.control.spec import Refused
from pybroker.daemon.controller import SUSPENDED, DaemonController
from pybroker.daemon.start_error import StartError
from tests.fakes import World


class Daemon:
    """The parts of a daemon that these requests touch."""

    def __init__(self):
        self.broker = World().broker
        self.log = SimpleNamespace(tail=lambda _count: None)
        self.storage = SimpleNamespace(journal=None, recovering=40)
        self.audit = None
        self.telemetry = self.streams = None
        self.tls = None
        self.https = None
        self.closed = 0
        self.opened = 0
        self.fault = None
        self.server = SimpleNamespace(close_listeners=self.close_listeners)

    def close_listeners(self):
        self.closed += 1

    def open_listeners(self):
        if self.fault:
            raise self.fault
        self.opened += 1


@pytest.fixture
def daemon():
    return Daemon()


@pytest.fixture
def controller(daemon):
    return DaemonController(daemon)


def test_listeners_are_suspended_once_and_resumed_once(daemon, controller):
    controller.resume_listeners()
    assert daemon.opened == 0
    controller.suspend_listeners()
    controller.suspend_listeners()
    assert (daemon.closed, [*daemon.broker.notices]) == (1, [SUSPENDED])
    controller.resume_listeners()
    controller.resume_listeners()
    assert (daemon.opened, [*daemon.broker.notices]) == (1, [])


def test_a_port_that_is_taken_leaves_them_suspended(daemon, controller):
    controller.suspend_listeners()
    daemon.fault = StartError("port 5672 is taken", os.EX_UNAVAILABLE)
    with pytest.raises(Refused, match="port 5672 is taken") as refused:
        controller.resume_listeners()
    assert refused.value.exit_code == os.EX_UNAVAILABLE
    assert [*daemon.broker.notices] == [SUSPENDED]
    daemon.fault = None
    controller.resume_listeners()
    assert (daemon.opened, [*daemon.broker.notices]) == (1, [])


def test_what_is_not_there_is_refused(controller):
    with pytest.raises(Refused, match="does not write a log file"):
        controller.log_tail(5)
    with pytest.raises(Refused, match="does not write an audit log"):
        next(controller.audit_lines(lambda _: None))
    with pytest.raises(Refused, match="still reading the log") as refused:
        controller.hold_log(lambda _: None)
    assert refused.value.exit_code == os.EX_TEMPFAIL


def test_a_node_without_tls_and_telemetry_says_so(controller):
    assert (controller.certificate_files, controller.telemetry_figures(), controller.recovering) == ((), None, 40)
    assert controller.tls_versions == ("tlsv1.2", "tlsv1.3")
