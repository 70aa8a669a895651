import os

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments


def test_the_daemon_is_asked_to_end_and_its_process_is_told(operator):
    answer = operator.ask("shutdown")
    assert (os.getpid(), ["stop"]) == (answer["pid"], operator.daemon.asked)
    assert "waiting for its process to exit" in answer["message"]
    assert answer["message"].startswith(f"Node pybroker@vm running at PID {os.getpid()} is shutting down")


def test_without_waiting_nothing_is_said_of_it(operator):
    assert operator.ask("shutdown", no_wait=True)["message"].endswith("is shutting down")


def test_both_are_too_much():
    with pytest.raises(BadArguments, match="Cannot set both"):
        commands.load("shutdown").parse({"wait": True, "no_wait": True})
