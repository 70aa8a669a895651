"""top as a person uses it: on a terminal, against a daemon that answers from a script."""

import pytest

from pybrokerctl.terminal.screen import LEAVE
from tests.ctl.typist import Typist, plain

STATUS = {
    "uptime": 3700,
    "resource_alarms": [],
    "notices": [],
    "memory": {"total": {"used": 58_000_000}},
    "vm_memory_high_watermark_limit": 10_000_000_000,
    "file_descriptors": {"total_used": 20, "total_limit": 1024},
    "totals": {"connection_count": 1, "queue_count": 2, "virtual_host_count": 1},
}
CLIENT = ["<n.1.0>", "1.2.3.4:5 -> 1.2.3.4:5672", "worker", "guest", "/", "running", "", 1, 0, 1000, 500]


def answers(published: int) -> list:
    return [{"columns": []}, ["/", "orders", 7, 0, 1, 70, published, 0, 0, 0], {"end": 1}]


@pytest.fixture
def busy(daemon, turns):
    daemon.answers = {
        "status": [{"value": STATUS}, {"end": 0}],
        "top": turns(*(answers(n * 100_000) for n in range(100))),
        "list_connections": [{"columns": []}, CLIENT, {"end": 1}],
    }
    return daemon


@pytest.fixture
def typist(busy):
    with Typist("--socket", str(busy.path), "top", "--watch", "0.25") as typist:
        typist.read_until("orders")
        yield typist


def test_rates_come_with_the_second_look_and_q_ends_it(typist, busy):
    assert "up 1:01:40" in plain(typist.read_until("\x1b[H") + typist.read_until("\x1b[H"))
    typist.press("q")
    assert typist.wait() == 0
    assert LEAVE in typist.seen
    assert typist.is_in_order
    # Looked at over and over, by one connection.
    assert len(busy.requests) >= 6


def test_keys_sort_filter_and_show_the_connections(typist):
    typist.press("\t")
    typist.read_until("worker")
    typist.press("\t/zzz\r")
    typist.read_until("0-0 of 0 queues with 'zzz'")
    typist.press("\x1b")
    typist.read_until("1-1 of 1 queues")
    typist.press("h")
    typist.read_until("Press any key to go back.")


def test_ctrl_c_ends_it_with_130(typist):
    typist.press("\x03")
    assert typist.wait() == 130
    assert "Traceback" not in typist.seen
    assert typist.is_in_order


def test_a_node_that_goes_away_ends_it_in_one_sentence(typist, busy):
    busy.answers = {}
    busy.lines = []
    assert typist.wait() == 69
    text = "Error:\nnode pybroker@vm disconnected before its answer was complete\n"
    assert plain(typist.seen.rpartition(LEAVE)[2]) == text
    assert typist.is_in_order


def test_a_refusal_is_shown_and_it_goes_on(typist, busy):
    busy.answers["top"] = [{"error": {"text": "the app is stopped", "exit_code": 64}}]
    typist.read_until("the app is stopped")
    busy.answers["top"] = answers(0)
    typist.read_until("no alarms")


def test_in_a_pipe_it_is_a_listing_of_counters(ctl, busy):
    busy.answers["top"] = [{"columns": ["name", "publish"]}, ["orders", 5], {"end": 1}]
    assert ctl("-q", "top", "name", "publish") == (0, "name\tpublish\norders\t5\n", "")
