from datetime import UTC, datetime

import pytest
from pamqp import commands

from pybroker.control.spec import Refused
from pybroker.seq_ranges import SeqRanges
from pybroker.store.memory import MemoryLog

Exchange = commands.Exchange


def declare(peer, name="x"):
    arguments = {"x-delayed-type": "fanout"}
    peer.call(Exchange.Declare(exchange=name, exchange_type="x-delayed-message", arguments=arguments))


def test_what_waits_is_listed_in_the_order_in_which_it_is_due(operator, peer, world):
    declare(peer)
    declare(peer, "other")
    now = world.clock.timestamp_ms
    peer.publish("x", "late", b"12345", headers={"x-delay": 90_000}, delivery_mode=2)
    peer.publish("other", "k", b"", headers={"x-delay": 5})
    peer.publish("x", "time", b"1", headers={"x-deliver-at": now + 60_000}, message_id="m")
    peer.publish("x", "soon", b"12", headers={"x-delay": 30_000})
    rows = operator.list("list_scheduled", "routing_key", "deliver_at_ms", "delay", "size", "persistent", "message_id")
    assert rows == [
        ["soon", now + 30_000, 30_000, 2, False, ""],
        ["time", now + 60_000, 60_000, 1, False, "m"],
        ["late", now + 90_000, 90_000, 5, True, ""],
        ["k", now + 5, 5, 0, False, ""],
    ]
    text = datetime.fromtimestamp((now + 30_000) / 1_000, UTC).isoformat(timespec="milliseconds")
    assert ["x", "soon", text, 2] == operator.list("list_scheduled")[0][1:]
    assert [5] == operator.list("list_scheduled", "delay", exchange="other")
    assert [[["x-delay", "byte", 5]]] == operator.list("list_scheduled", "headers", exchange="other")
    published = datetime.fromtimestamp(now / 1_000, UTC).isoformat(timespec="milliseconds")
    assert [published] == operator.list("list_scheduled", "published_at", exchange="other")
    assert ["x", 3] in operator.list("list_exchanges", "name", "messages_delayed")


def test_where_no_calendar_goes_it_is_a_number(operator, peer):
    declare(peer)
    peer.publish("x", "k", headers={"x-deliver-at": 1 << 60})
    assert [str(1 << 60)] == operator.list("list_scheduled", "deliver_at")


def test_an_exchange_where_nothing_ever_waits_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.list("list_scheduled", exchange="amq.topic")
    text = "exchange 'amq.topic' in virtual host '/' is of type topic: it holds no messages"
    assert (65, text) == (refused.value.exit_code, refused.value.text)
    with pytest.raises(Refused, match="was not found"):
        operator.list("list_scheduled", exchange="nosuch")


def test_while_a_start_reads_it_who_asks_is_told_to_wait(operator, peer, world, monkeypatch):
    declare(peer)
    (schedule,) = world.vhost.schedules
    seq_ranges = SeqRanges()
    seq_ranges.add(1, 7, 1)
    monkeypatch.setattr(MemoryLog, "fetch", lambda *_: None)
    schedule.restore([(0, False, seq_ranges)], 1)
    with pytest.raises(Refused) as refused:
        operator.list("list_scheduled")
    text = "the schedule of exchange 'x' in vhost '/' is loading, 7 messages left; try again in a few seconds"
    assert (75, text) == (refused.value.exit_code, refused.value.text)
