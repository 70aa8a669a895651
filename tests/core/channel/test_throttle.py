"""Throttle: what is told of why a connection is not read, now and before (E6, E7)."""

import pytest

from pybroker.core.channel.throttle import (
    FLOW_SHOWN_MS,
    JOURNAL,
    PEER,
    RESOURCE,
    AlarmCause,
    DelayedCause,
    QueueCause,
    RemovalCause,
    RepliesCause,
    RequeueCause,
    Throttle,
)


@pytest.fixture
def throttle():
    return Throttle()


def stop(throttle, cause, now_ms):
    throttle.stop(cause, now_ms)


def test_e7_who_was_never_stopped_has_no_age(throttle):
    assert ("none", "", None) == (throttle.last_by, throttle.last_cause, throttle.last_age_s(99))
    assert (0, 0, False, False) == (
        throttle.flow_ms(99),
        throttle.blocked_ms(99),
        throttle.blocked,
        throttle.in_flow(99),
    )


def test_e7_the_first_cause_and_its_time_are_kept(throttle):
    stop(throttle, JOURNAL, 1_000)
    stop(throttle, PEER, 2_000)
    assert ("flow", "journal", 2.5) == (throttle.last_by, throttle.last_cause, throttle.last_age_s(3_500))
    assert 1 == throttle.flow_count
    assert not throttle.resume(JOURNAL, 4_000)
    assert throttle.resume(PEER, 5_000)
    assert ("flow", "journal", 9.0) == (throttle.last_by, throttle.last_cause, throttle.last_age_s(10_000))
    stop(throttle, PEER, 11_000)
    assert ("peer", 0.0, 2) == (throttle.last_cause, throttle.last_age_s(11_000), throttle.flow_count)


def test_e7_an_alarm_wins_over_flow(throttle):
    stop(throttle, JOURNAL, 1_000)
    stop(throttle, AlarmCause(("memory",)), 2_000)
    assert ("resource", "memory", 1.0, True) == (
        throttle.last_by,
        throttle.last_cause,
        throttle.last_age_s(3_000),
        throttle.blocked,
    )
    stop(throttle, PEER, 4_000)
    assert "resource" == throttle.last_by


def test_e6_flow_is_shown_for_some_seconds_after(throttle):
    stop(throttle, JOURNAL, 1_000)
    assert throttle.in_flow(9_000)
    throttle.resume(JOURNAL, 9_000)
    assert throttle.in_flow(9_000 + FLOW_SHOWN_MS - 1)
    assert not throttle.in_flow(9_000 + FLOW_SHOWN_MS)


def test_an_alarm_alone_is_not_flow(throttle):
    stop(throttle, RESOURCE, 1_000)
    assert not throttle.in_flow(2_000)
    throttle.resume(RESOURCE, 3_000)
    assert not throttle.in_flow(3_000)


def test_times_add_up_and_alarms_time_is_not_flows(throttle):
    stop(throttle, JOURNAL, 1_000)
    stop(throttle, PEER, 2_000)
    stop(throttle, RESOURCE, 4_000)
    throttle.resume(JOURNAL, 5_000)
    assert (3_000, 2_000) == (throttle.flow_ms(6_000), throttle.blocked_ms(6_000))
    throttle.resume(RESOURCE, 7_000)
    assert (3_500, 3_000) == (throttle.flow_ms(7_500), throttle.blocked_ms(7_500))
    throttle.resume(PEER, 8_000)
    assert (4_000, 3_000) == (throttle.flow_ms(99_000), throttle.blocked_ms(99_000))


def test_a_cause_counts_once_and_one_that_is_none_ends_nothing(throttle):
    stop(throttle, JOURNAL, 1_000)
    stop(throttle, JOURNAL, 2_000)
    assert {JOURNAL: 1_000} == throttle.causes
    assert not throttle.resume(PEER, 3_000)
    assert throttle.resume(JOURNAL, 3_000)
    assert not throttle.resume(JOURNAL, 4_000)


def test_causes_are_told_apart_by_what_they_are_and_named_in_a_few_words():
    causes = {
        JOURNAL: "journal",
        PEER: "peer",
        RepliesCause(1): "replies that wait for the disk",
        RepliesCause(2): "replies that wait for the disk",
        QueueCause("/", "q"): "queue 'q' in vhost '/'",
        QueueCause("v", "q"): "queue 'q' in vhost 'v'",
        DelayedCause("schedule of exchange 'x' in vhost '/'"): "schedule of exchange 'x' in vhost '/'",
        RemovalCause(): "the removal of what it needs",
        RemovalCause(): "the removal of what it needs",
        RequeueCause(): "the messages that it acknowledged or rejected at once",
        AlarmCause(("memory", "disk")): "memory & disk",
    }
    assert len(causes) == 11
    assert [str(cause) for cause in causes] == list(causes.values())
    kinds = ["journal", "peer", "replies", "replies", "queue", "queue", "other", "other", "other", "other", "resource"]
    assert [cause.kind for cause in causes] == kinds


def test_one_alarm_is_as_good_as_another(throttle):
    stop(throttle, AlarmCause(("memory",)), 1_000)
    stop(throttle, AlarmCause(("disk",)), 2_000)
    assert (1_000, "memory") == (throttle.blocked_since_ms(), throttle.last_cause)
    assert throttle.resume(RESOURCE, 3_000)


def test_flows_are_all_but_alarms(throttle):
    stop(throttle, JOURNAL, 1_000)
    stop(throttle, RESOURCE, 2_000)
    assert {JOURNAL: 1_000} == throttle.flows
