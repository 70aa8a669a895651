import pytest

from pybroker.control.spec import BadArguments, Refused


@pytest.fixture
def peer(operator):
    peer = operator.world.connect()
    for name in ("orders", "other"):
        peer.declare(name)
    return peer


def asked(operator, **given):
    return operator.ask("check_queue_age", **{"older_than": "1m", **given})


def refused(operator, **given):
    with pytest.raises(Refused) as caught:
        asked(operator, **given)
    assert caught.value.exit_code == 69
    return caught.value.text, caught.value.facts["queues"]


def test_young_messages_pass(operator, peer):
    peer.publish("", "orders", b"1")
    operator.world.advance(60_000)
    assert asked(operator) == "No head and no unacknowledged message of 2 queues is older than 1m."


def test_heads_and_unacknowledged_messages_that_are_older_fail(operator, peer):
    for name in ("orders", "other"):
        peer.publish("", name, b"1")
        operator.world.advance(10_000)
    peer.publish("", "other", b"2")
    peer.get("other", no_ack=False)
    operator.world.advance(60_000)
    text, facts = refused(operator)
    assert text.splitlines() == [
        "queue 'orders' in vhost '/': the message at its head is 1 min 20 s old",
        "queue 'other' in vhost '/': its oldest unacknowledged message is 1 min 10 s old",
    ]
    assert facts == [
        {"vhost": "/", "name": "orders", "message": "head", "age_ms": 80_000},
        {"vhost": "/", "name": "other", "message": "unacknowledged", "age_ms": 70_000},
    ]
    assert refused(operator, pattern="^oth")[1] == facts[1:]
    operator.world.broker.add_vhost("v")
    assert refused(operator, vhost="v", all_vhosts=True)[1] == facts
    assert asked(operator, vhost="v") == "No head and no unacknowledged message of 0 queues is older than 1m."


@pytest.mark.parametrize("given", [{"older_than": "five"}, {"older_than": "0s"}, {"pattern": "("}])
def test_what_makes_no_sense_is_refused(operator, peer, given):
    with pytest.raises(BadArguments):
        operator.ask("check_queue_age", **{"older_than": "1m", **given})


def test_a_pattern_that_matches_nothing_is_no_good_news(operator, peer):
    with pytest.raises(Refused) as caught:
        asked(operator, pattern="^none")
    assert (caught.value.text, caught.value.exit_code) == ("no queue matches '^none'", 65)
