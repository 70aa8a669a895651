import pytest

from pybroker.control.spec import Refused


def test_the_categories_add_up_to_the_resident_set(operator, peer):
    peer.declare("q")
    peer.publish("", "q", b"x" * 50_000)
    document = operator.ask("memory_breakdown")
    assert set(document) == {
        "code",
        "message_contents",
        "queue_entries",
        "connection_buffers",
        "allocated_unused",
        "reusable",
        "other",
    }
    assert sum(one["bytes"] for one in document.values()) == 100_000_000
    assert document["code"] == {"bytes": 20_000_000, "percentage": 20.0}
    assert 50_000 < document["message_contents"]["bytes"] < 50_300
    assert list(document) == sorted(document, key=lambda name: -document[name]["bytes"])


def test_no_category_is_larger_than_what_there_is(operator, peer):
    peer.declare("q")
    peer.publish("", "q", b"x" * 50_000)
    operator.daemon.memory = (30_000, 20_000, 5_000)
    document = operator.ask("memory_breakdown")
    assert document["message_contents"]["bytes"] == 10_000
    assert document["allocated_unused"]["bytes"] == document["other"]["bytes"] == 0


def test_where_the_system_does_not_tell_it_is_said(operator):
    operator.daemon.memory = (0, 0, 0)
    with pytest.raises(Refused) as refused:
        operator.ask("memory_breakdown")
    assert refused.value.exit_code == 69


def test_without_what_is_reusable_it_adds_up_to_what_the_limit_is_compared_with(operator):
    measured = operator.world.broker.settings.watermarks.measured
    measured.rss, measured.reusable, measured.used = 100_000_000, 3_000_000, 97_000_000
    document = operator.ask("memory_breakdown")
    assert 3_000_000 == document["reusable"]["bytes"]
    # Memory that malloc holds free beyond that counts as used.
    assert 2_000_000 == document["allocated_unused"]["bytes"]
    assert measured.used == sum(one["bytes"] for name, one in document.items() if name != "reusable")
