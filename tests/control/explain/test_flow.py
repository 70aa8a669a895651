"""The explanation of each cause, where the commands' tests do not see it."""

from pybroker.control.explain import flow as explain_flow
from pybroker.core.channel.throttle import JOURNAL, QueueCause, RemovalCause, RepliesCause

MIB = 1 << 20


def test_all_connections_together_are_told_where_they_count(world, monkeypatch):
    peer = world.connect()
    monkeypatch.setattr(type(world.broker.log), "uncommitted_octets", property(lambda _: 65 * MIB), raising=False)
    why = explain_flow.of_session(peer.session, JOURNAL).why
    assert why.endswith(
        "68.2 MB of all connections together are not on disk yet; at 33.6 MB the node stops reading the connection "
        "until 16.8 MB are left"
    )


def test_a_log_that_finds_no_descriptor_is_told_with_what_helps(world):
    world.broker.log.stalled = "cannot create seg.1: Too many open files"
    reason = explain_flow.of_session(world.connect().session, JOURNAL)
    assert "; the log is stalled: cannot create seg.1: Too many open files" in reason.why
    assert reason.advice.startswith("raise the node's limit of open files")


def test_a_removal_is_called_by_its_name(world):
    reason = explain_flow.of_session(world.connect().session, RemovalCause())
    what = "the removal of what it needs"
    assert ("other", what, f"{what} could not keep up") == (reason.kind, reason.what, reason.why)


def test_a_queue_that_is_gone_is_called_by_its_name(world):
    reason = explain_flow.of_session(world.connect().session, QueueCause("/", "q"))
    assert ("queue", "queue 'q' in vhost '/' could not keep up") == (reason.kind, reason.why)


def test_replies_that_have_left_are_told_without_figures(world):
    session = world.connect().session
    reason = explain_flow.of_past(session, RepliesCause(1))
    assert ("other", None) == (reason.kind, reason.octets)
    assert reason == explain_flow.of_session(session, RepliesCause(7))
