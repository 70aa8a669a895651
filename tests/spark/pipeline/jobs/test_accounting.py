"""Accounting: the node's processor time is shared out by messages, minute by minute."""

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import accounting
from pybroker.spark.pipeline.schemas import CONNECTION_1M, NODE_1M, QUEUE_1M
from tests.spark.pipeline.jobs.rows import at, minutes


def test_processor_time_is_shared_out_by_messages_in_each_minute():
    def connection(minute, name, user, publish, deliver):
        facts = {"conn_id": name, "client_name": name, "user": user, "vhost": "/", "recv_oct": 100, "send_oct": 10}
        return {"ts": at(minute), **facts, "publish": publish, "deliver": deliver}

    rows = [
        connection(0, "a", "shop", 30, 0),
        connection(0, "b", "shop", 0, 10),
        connection(0, "c", "billing", 0, 60),
        connection(1, "c", "billing", 5, 5),
        # Nobody sent anything, and telemetry of an older node does not say.
        connection(2, "c", "billing", 0, None),
    ]
    nodes = [{"ts": at(n), "cpu_ms": 1_000} for n in range(4)]
    found = accounting.shares(minutes(CONNECTION_1M, *rows), minutes(NODE_1M, *nodes))
    told = {(row["scope"], row["name"]): SimpleNamespace(**row) for row in found}
    shop, billing, everything = told["user", "shop"], told["user", "billing"], told["vhost", "/"]
    assert (shop.cpu_ms, billing.cpu_ms, everything.cpu_ms) == (400, 1_600, 2_000)
    assert (shop.connections, shop.published, shop.delivered, shop.octets_in, shop.octets_out) == (2, 30, 10, 200, 20)
    assert (billing.connections, billing.published, billing.delivered) == (1, 5, 65)
    assert told["publisher", "a"].cpu_ms == 300


def test_the_backlog_of_a_virtual_host_is_that_of_its_queues_together():
    def waiting(minute, queue, ready, vhost="/"):
        return {"ts": at(minute), "vhost": vhost, "queue": queue, "ready_max": ready, "bytes_last": 10 * ready}

    rows = [waiting(0, "a", 5), waiting(2, "a", 9), waiting(1, "b", 4), waiting(5, "a", 1), waiting(9, "b", 11)]
    rows.append(waiting(0, "c", 3, "other"))
    found = {row["vhost"]: row for row in accounting.peaks(minutes(QUEUE_1M, *rows))}
    assert (found["/"]["peak_backlog"], found["/"]["peak_octets"]) == (13, 130)
    assert found["other"]["peak_backlog"] == 3
