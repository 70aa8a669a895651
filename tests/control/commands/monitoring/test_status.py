import os

import pytest

from pybroker.core.resources.resource_limits import TotalMemory
from pybroker.net.listener import Listener


class OpenListener(Listener):
    def __init__(self, interface, port, path=""):
        self.protocol, self.interface, self.port, self.path = "amqp", interface, port, path


def test_the_document_counts_what_is_there(operator, peer):
    peer.declare("q1")
    peer.declare("q2")
    operator.world.peer()  # connected, and has not said a word
    document = operator.ask("status")
    assert document["totals"] == {"connection_count": 1, "queue_count": 2, "virtual_host_count": 1}
    assert document["pid"] == os.getpid()
    assert document["node_name"] == "pybroker@vm"
    assert document["rabbitmq_version"] == "3.13.0"
    assert document["memory"]["total"]["rss"] > 1_000_000
    assert 0 < document["file_descriptors"]["total_used"] < document["file_descriptors"]["total_limit"]
    # Both peers hold a socket; the limit leaves some descriptors to the node itself.
    assert (2, 900) == tuple(document["file_descriptors"][f"sockets_{what}"] for what in ("used", "limit"))


def test_uptime_is_in_seconds(operator):
    operator.world.clock.advance(61_500)
    assert operator.ask("status")["uptime"] == 61


def test_listeners_are_shown_in_rabbitmqs_form(operator):
    operator.world.broker.listeners += [
        OpenListener("::", 5672),
        OpenListener("127.0.0.1", 5673),
        OpenListener("", 0, "/run/amqp.sock"),
    ]
    shown = [(one["interface"], one["port"], one["protocol"]) for one in operator.ask("status")["listeners"]]
    assert shown == [("[::]", 5672, "amqp"), ("127.0.0.1", 5673, "amqp"), ("/run/amqp.sock", 0, "amqp")]


def test_places_and_free_space_are_those_of_the_node(operator, tmp_path):
    settings = operator.world.broker.settings
    assert "disk_free" not in operator.ask("status")
    settings.data_dir, settings.log_files = str(tmp_path), ("/var/log/n.log",)
    document = operator.ask("status")
    assert document["data_directory"] == str(tmp_path)
    assert document["log_files"] == ["/var/log/n.log"]
    assert document["disk_free"] > 0


def test_a_stopped_app_is_seen(operator):
    assert operator.ask("status")["app_running"]
    operator.daemon.app_running = False
    assert not operator.ask("status")["app_running"]


def test_what_the_limit_is_compared_with_is_told_with_what_it_is_made_of(operator):
    marks = operator.world.broker.settings.watermarks
    marks.measured.rss, marks.measured.accounted = 500, 100
    marks.measured.reusable, marks.measured.used = 120, 380
    document = operator.ask("status")
    assert {"rss": 500, "allocated": 380, "accounted": 100, "reusable": 120, "used": 380} == document["memory"]["total"]
    # B20.
    assert ("allocated", "allocated") == (document["memory"]["strategy"], document["vm_memory_calculation_strategy"])


def test_b14_limits_and_what_they_were_made_of(operator):
    marks = operator.world.broker.settings.watermarks
    marks.set_total(TotalMemory(4 << 30, "cgroup v2", 16 << 30))
    document = operator.ask("status")
    assert {"bytes": 4 << 30, "source": "cgroup v2", "installed": 16 << 30} == document["total_memory"]
    ratio, limit = (document[f"vm_memory_high_watermark_{name}"] for name in ("paging_ratio", "paging_limit"))
    assert (0.5, int(0.2 * (4 << 30))) == (ratio, limit)
    marks.paging_ratio = 1.1
    assert operator.ask("status")["vm_memory_high_watermark_paging_limit"] is None


@pytest.mark.parametrize("codec", ["C", "pure Python"])
def test_which_codec_runs_is_told(operator, monkeypatch, codec):
    for name in ("content", "stream.entries", "amqp10.to_content"):
        monkeypatch.setattr(f"pybroker.wire.{name}.CODEC", codec)
    assert operator.ask("status")["runtime"].endswith(f", codec: {codec}")


def test_a_codec_that_was_not_built_is_told_of(operator, monkeypatch):
    monkeypatch.setattr("pybroker.wire.content.CODEC", "C")
    monkeypatch.setattr("pybroker.wire.stream.entries.CODEC", "pure Python")
    monkeypatch.setattr("pybroker.wire.amqp10.to_content.CODEC", "C")
    assert operator.ask("status")["runtime"].endswith(", codec: C, pure Python for entries of streams")
