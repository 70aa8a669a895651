import logging

import pytest
from hypothesis import given, strategies as st

from pybroker.core.policy.argument_values import CONSUME_CHECKS, DECLARE_CHECKS
from pybroker.core.policy.arguments import (
    CONSUME_ARGUMENTS,
    DECLARE_ARGUMENTS,
    check_consume_arguments,
    check_declare_arguments,
    check_queue_properties,
    consumer_priority,
    queue_limits,
    queue_type_of,
)
from pybroker.core.policy.limits import DROP_HEAD, REJECT_PUBLISH, REJECT_PUBLISH_DLX, QueueLimits
from pybroker.errors import PreconditionFailed
from pybroker.wire.table import Table
from tests.topology import argument_fault, new_vhost, queue, refusal, wired

QUORUM = {"x_queue_type": "quorum"}
STREAM = {"x_queue_type": "stream"}


# F10: an argument of another queue type.
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (wired(x_max_in_memory_length=3), "'x-max-in-memory-length' of queue type rabbit_classic_queue"),
        (wired(x_max_age="1D"), "'x-max-age' of queue type rabbit_classic_queue"),
        (wired(x_max_priority=3, **QUORUM), "'x-max-priority' of queue type rabbit_quorum_queue"),
        (wired(x_queue_mode="lazy", **QUORUM), "'x-queue-mode' of queue type rabbit_quorum_queue"),
    ],
)
def test_f10_arguments_of_other_queue_types_are_refused(arguments, text):
    assert argument_fault(arguments) == text


# F10, F11
def test_f10_good_arguments_come_to_limits():
    arguments = wired(
        x_message_ttl=0,
        x_expires=1,
        x_max_length=0,
        x_max_length_bytes=2**40,
        x_max_priority=255,
        x_overflow="reject-publish",
        x_dead_letter_exchange="",
        x_dead_letter_routing_key="k",
        x_single_active_consumer=True,
        x_queue_mode="lazy",
        x_queue_version=2,
        x_queue_master_locator="anything",
    )
    assert check_declare_arguments(new_vhost(), "q", arguments) == "classic"
    assert queue_limits(arguments, "classic") == QueueLimits(
        message_ttl_ms=0,
        expires_ms=1,
        length_max=0,
        octets_max=2**40,
        overflow=REJECT_PUBLISH,
        dead_letter_exchange="",
        dead_letter_routing_key="k",
        priority_max=255,
        single_active_consumer=True,
    )
    assert queue_limits(Table(), "classic") == QueueLimits()


@pytest.mark.parametrize(
    ("name", "overflow"),
    [("drop-head", DROP_HEAD), ("reject-publish", REJECT_PUBLISH), ("reject-publish-dlx", REJECT_PUBLISH_DLX)],
)
def test_f10_overflows(name, overflow):
    arguments = wired(x_overflow=name)
    check_declare_arguments(new_vhost(), "q", arguments)
    assert queue_limits(arguments, "classic").overflow == overflow


@pytest.mark.parametrize(("sent", "limit"), [(0, 0), (20, 20), (-1, None)])
def test_a_quorum_queue_has_a_delivery_limit_and_a_negative_one_is_none(sent, limit):
    arguments = wired(x_delivery_limit=sent, **QUORUM)
    assert check_declare_arguments(new_vhost(), "q", arguments) == "quorum"
    limits = queue_limits(arguments, "quorum")
    assert (limits.delivery_limit, limits.queue_type) == (limit, "quorum")


def test_f10_unknown_arguments_are_kept_and_warned_about_once(caplog):
    vhost = new_vhost()
    with caplog.at_level(logging.WARNING, "pybroker"):
        for _ in range(2):
            check_declare_arguments(vhost, "q", wired(**{"x-my\ntag": 1}))
            check_declare_arguments(vhost, "q", wired(x_queue_version=2))
    assert [record.message for record in caplog.records] == [
        r"argument 'x-my\ntag' of queue 'q' in vhost '/' is unknown: stored, but without effect",
        "argument 'x-queue-version' of queue 'q' in vhost '/' has no effect here",
    ]


def test_the_tables_agree_with_each_other():
    for mine in DECLARE_ARGUMENTS.values():
        assert set(mine) - set(DECLARE_CHECKS) <= {"x-queue-master-locator"}
    for queue_type, mine in CONSUME_ARGUMENTS.items():
        assert queue_type == "stream" or set(mine) - set(CONSUME_CHECKS) <= {"x-credit"}


SENT = st.sampled_from(
    [None, True, -1, 0, 1, 300, 2**62, 1.5, b"x", "", "text", "drop-head", "quorum", "classic", [], {}]
)


@given(st.dictionaries(st.sampled_from(sorted(DECLARE_CHECKS)), SENT))
def test_f10_whatever_is_sent_is_refused_with_406_or_comes_to_limits(values):
    arguments = wired(**values)
    text = ""
    try:
        queue_type = check_declare_arguments(new_vhost(), "q", arguments)
    except PreconditionFailed as error:
        text = error.text
    assert text.startswith("invalid arg 'x-") or queue_limits(arguments, queue_type).queue_type == queue_type


# F23, F28: RabbitMQ's order is auto-delete, exclusive, non-durable.
@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({"durable": False}, "non-durable"),
        ({"exclusive": True, "durable": False}, "exclusive-owner"),
        ({"auto_delete": True, "exclusive": True, "durable": False}, "auto-delete"),
    ],
)
def test_f23_f28_a_quorum_queue_is_durable_and_belongs_to_nobody(properties, what):
    options = {"durable": True, "exclusive": False, "auto_delete": False, **properties}
    with pytest.raises(PreconditionFailed) as error:
        check_queue_properties(new_vhost(), "q", "quorum", **options)
    assert refusal(error.value) == (406, f"invalid property '{what}' for queue 'q' in vhost '/'")
    check_queue_properties(new_vhost(), "q", "classic", **options)


# F10, F18
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (wired(x_priority="high"), "'x-priority' for queue 'q' in vhost '/': \"expected integer, got longstr\""),
        (
            wired(x_cancel_on_ha_failover=1),
            "'x-cancel-on-ha-failover' for queue 'q' in vhost '/': {unacceptable_type,signedint}",
        ),
        (
            wired(x_stream_offset="first"),
            "'x-stream-offset' for queue 'q' in vhost '/' of queue type rabbit_classic_queue",
        ),
    ],
)
def test_f10_bad_consumer_arguments_are_refused(arguments, text):
    with pytest.raises(PreconditionFailed) as error:
        check_consume_arguments(queue(new_vhost(), "q"), arguments)
    assert refusal(error.value) == (406, f"invalid arg {text}")


def test_f10_good_and_unknown_consumer_arguments_pass():
    q = queue(new_vhost(), "q")
    arguments = wired(x_priority=-7, x_cancel_on_ha_failover=True, x_mine="kept")
    check_consume_arguments(q, arguments)
    check_consume_arguments(q, Table())
    assert (consumer_priority(arguments), consumer_priority(Table())) == (-7, 0)


def test_a_quorum_queue_knows_no_cancel_on_failover():
    q = queue(new_vhost(), "q", wired(**QUORUM))
    check_consume_arguments(q, wired(x_priority=1))
    with pytest.raises(PreconditionFailed) as error:
        check_consume_arguments(q, wired(x_cancel_on_ha_failover=True))
    assert error.value.text.endswith("of queue type rabbit_quorum_queue")


def test_the_queue_type_is_classic_unless_said_otherwise():
    assert [queue_type_of(a) for a in (Table(), wired(**QUORUM), wired(x_queue_type=1))] == [
        "classic",
        "quorum",
        "classic",
    ]
