"""What is told of each cause, where the commands' tests do not see it."""

from pybroker.amqp import line, session
from pybroker.control import causes
from pybroker.core import credit, throttle

MIB = 1 << 20


def test_limits_and_names_are_those_of_who_holds_back():
    assert credit.PEER_OCTETS_MAX == causes.PEER_OCTETS_MAX
    assert session.REPLY_OCTETS_MAX == causes.REPLY_OCTETS_MAX
    assert (line.REPLIES_MAX, line.OCTETS_MAX) == (causes.REPLIES_MAX, causes.REPLIES_OCTETS_MAX)
    assert (throttle.JOURNAL, throttle.PEER) == (causes.JOURNAL, causes.PEER)


def test_all_connections_together_are_told_where_they_count(world, monkeypatch):
    peer = world.connect()
    monkeypatch.setattr(type(world.broker.log), "uncommitted_octets", property(lambda _: 65 * MIB), raising=False)
    why = causes.of_session(peer.session, "journal").why
    assert why.endswith(
        "68.2 MB of all connections together are not on disk yet; at 33.6 MB the node stops reading the connection "
        "until 16.8 MB are left"
    )


def test_a_log_that_finds_no_descriptor_is_told_with_what_helps(world):
    world.broker.log.stalled = "cannot create seg.1: Too many open files"
    reason = causes.of_session(world.connect().session, "journal")
    assert "; the log cannot go on: cannot create seg.1: Too many open files" in reason.why
    assert reason.advice.startswith("raise the node's limit of open files")


def test_a_cause_that_is_not_known_is_called_by_its_name(world):
    reason = causes.of_session(world.connect().session, "moon")
    assert ("other", "moon", "moon could not keep up") == (reason.kind, reason.what, reason.why)
