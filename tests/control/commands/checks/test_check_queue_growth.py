import pytest

from pybroker.control.spec import BadArguments, Refused


@pytest.fixture
def peer(operator):
    peer = operator.world.connect()
    peer.declare("bounded", arguments={"x-max-length": 1_000})
    peer.declare("free")
    return peer


def wait(operator, seconds=1):
    for _ in range(seconds):
        operator.world.advance(1_000)


def grow(operator, peer, name, *, seconds=60, publish=2, take=0):
    """Publish and take so many messages in each second."""
    for _ in range(seconds):
        for _ in range(publish):
            peer.publish("", name, b"x")
        for _ in range(take):
            peer.get(name, no_ack=True)
        wait(operator)


def asked(operator, **given):
    return operator.ask("check_queue_growth", **given)


def refused(operator, **given):
    with pytest.raises(Refused) as caught:
        asked(operator, **given)
    assert caught.value.exit_code == 69
    return caught.value.text, caught.value.facts["queues"]


def test_queues_at_rest_pass(operator, peer):
    for name in ("bounded", "free"):
        peer.publish("", name, b"x")
    wait(operator, 700)
    assert asked(operator) == "Of 2 queues none will be full within 1h or needs longer than 1h to drain."
    assert asked(operator, full_within="1d") == "Of 2 queues none will be full within 1d."


def test_a_queue_that_will_be_full_fails(operator, peer):
    grow(operator, peer, "bounded")
    text, (facts,) = refused(operator, full_within="10m")
    # 880 messages more, two a second.
    assert text == "queue 'bounded' in vhost '/': it will be full in 7 min 20 s"
    assert facts == {
        "vhost": "/",
        "name": "bounded",
        "messages": 120,
        "time_to_full_s": 440,
        "time_to_drain_s": None,
        "grows": False,
    }
    assert asked(operator, full_within="7m") == "Of 2 queues none will be full within 7m."
    assert asked(operator, full_within="1h", pattern="^free") == "Of 1 queue none will be full within 1h."


def test_a_full_queue_fails(operator, peer):
    for _ in range(1_000):
        peer.publish("", "bounded", b"x")
    assert refused(operator, full_within="1s")[0] == "queue 'bounded' in vhost '/': it is full"


def test_a_queue_that_nothing_leaves_fails_while_it_grows(operator, peer):
    grow(operator, peer, "free")
    text, (facts,) = refused(operator, drain_over="1m")
    assert text == "queue 'free' in vhost '/': it has 120 messages, grows, and nothing leaves it"
    assert (facts["grows"], facts["time_to_drain_s"]) == (True, None)
    wait(operator, 90)
    assert asked(operator, drain_over="1m") == "Of 2 queues none needs longer than 1m to drain."


def test_a_queue_whose_work_takes_long_fails(operator, peer):
    for _ in range(900):
        peer.publish("", "free", b"x")
    wait(operator, 10)
    grow(operator, peer, "free", seconds=70, publish=3, take=1)
    text, (facts,) = refused(operator, drain_over="5m")
    assert text == "queue 'free' in vhost '/': its 1,040 messages need 17 min 20 s to drain, and it still grows"
    assert (facts["time_to_drain_s"], facts["grows"]) == (1_040, True)
    grow(operator, peer, "free", seconds=70, publish=1, take=3)
    text, (facts,) = refused(operator, drain_over="5m")
    # It shrinks by two a second.
    assert text == "queue 'free' in vhost '/': its 900 messages need 7 min 30 s to drain"
    assert (facts["time_to_drain_s"], facts["grows"]) == (450, False)
    assert asked(operator, drain_over="8m") == "Of 2 queues none needs longer than 8m to drain."


@pytest.mark.parametrize("given", [{"full_within": "five"}, {"drain_over": "0s"}, {"pattern": "("}])
def test_what_makes_no_sense_is_refused(operator, peer, given):
    with pytest.raises(BadArguments):
        asked(operator, **given)


def test_a_pattern_that_matches_nothing_is_no_good_news(operator, peer):
    with pytest.raises(Refused) as caught:
        asked(operator, pattern="^none")
    assert (caught.value.text, caught.value.exit_code) == ("no queue matches '^none'", 65)
