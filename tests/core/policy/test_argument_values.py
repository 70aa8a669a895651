"""Which values arguments may have, and how wrong ones are refused."""

from decimal import Decimal

import pytest

from pybroker.core.policy.argument_values import EXPIRY_MS_MAX
from pybroker.core.policy.arguments import check_declare_arguments, queue_limits
from pybroker.wire.table import Table
from tests.topology import argument_fault, new_vhost, typed, wired

QUORUM = {"x_queue_type": "quorum"}
STREAM = {"x_queue_type": "stream"}
KEY = "x-dead-letter-routing-key"
NOT_NEGATIVE = ["x-message-ttl", "x-max-length", "x-max-length-bytes", "x-max-priority"]


# F10: the texts are RabbitMQ's, to the letter.
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        *[(wired(**{key: -1}), f"'{key}': {{value_negative,-1}}") for key in NOT_NEGATIVE],
        *[(wired(**{key: "1"}), f"'{key}': \"expected integer, got longstr\"") for key in [*NOT_NEGATIVE, "x-expires"]],
        (wired(x_expires=0), "'x-expires': {value_zero,0}"),
        (wired(x_expires=-1), "'x-expires': {value_negative,-1}"),
        (wired(x_expires=EXPIRY_MS_MAX + 1), "'x-expires': {value_too_large,315360000001}"),
        (wired(x_message_ttl=EXPIRY_MS_MAX + 1), "'x-message-ttl': {value_too_large,315360000001}"),
        (typed("x-message-ttl", "d", 1.5), "'x-message-ttl': \"expected integer, got double\""),
        (typed("x-max-length", "t", True), "'x-max-length': \"expected integer, got bool\""),
        (typed("x-max-length", "D", Decimal(1)), "'x-max-length': \"expected integer, got decimal\""),
        (wired(x_max_priority=256), "'x-max-priority': {max_value_exceeded,256}"),
        (wired(x_dead_letter_exchange=1), "'x-dead-letter-exchange': {unacceptable_type,signedint}"),
        (wired(x_dead_letter_routing_key="k"), "'x-dead-letter-routing-key': routing_key_but_no_dlx_defined"),
        (
            wired(x_dead_letter_exchange="x", x_dead_letter_routing_key=1),
            "'x-dead-letter-routing-key': {unacceptable_type,signedint}",
        ),
        *[
            (
                wired(x_dead_letter_exchange="x", x_dead_letter_routing_key=key),
                "'x-dead-letter-routing-key': {unacceptable_value,no_routing_key}",
            )
            for key in ("k" * 256, "é" * 128)  # octets count
        ],
        (
            Table(
                {"x-dead-letter-exchange": "x", "x-dead-letter-routing-key": b"\xff"},
                {"x-dead-letter-routing-key": "S"},
            ),
            "'x-dead-letter-routing-key': {unacceptable_value,no_routing_key}",
        ),
        (wired(x_overflow="drop-tail"), "'x-overflow': invalid_overflow"),
        (wired(x_overflow=1), "'x-overflow': {unacceptable_type,signedint}"),
        (wired(x_queue_mode="hasty"), "'x-queue-mode': \"unsupported queue mode 'hasty'\""),
        (wired(x_queue_mode=True), "'x-queue-mode': {unacceptable_type,bool}"),
        (wired(x_queue_version=3), "'x-queue-version': \"unsupported queue version '3'\""),
        (wired(x_single_active_consumer="yes"), "'x-single-active-consumer': {unacceptable_type,longstr}"),
        (wired(x_queue_type="bogus"), "'x-queue-type': \"unsupported queue type 'bogus'\""),
        (wired(x_queue_type=1), "'x-queue-type': {unacceptable_type,signedint}"),
        (wired(x_queue_type="rope"), "'x-queue-type': \"unsupported queue type 'rope'\""),
        *[
            (wired(x_max_age=age, **STREAM), "'x-max-age': invalid_max_age")
            for age in ("1x", "0h", "1", "1.5h", "1h2m", "-1h", "", "h", "1" * 19 + "s")
        ],
        (wired(x_max_age=5, **STREAM), "'x-max-age': {unacceptable_type,signedint}"),
        (
            wired(x_stream_max_segment_size_bytes=-1, **STREAM),
            "'x-stream-max-segment-size-bytes': {value_negative,-1}",
        ),
        (wired(x_initial_cluster_size=0, **STREAM), "'x-initial-cluster-size': {value_zero,0}"),
        (wired(x_queue_leader_locator="zzz", **STREAM), "'x-queue-leader-locator': invalid_queue_locator_arg"),
        *[
            (wired(**{key: 1}, **STREAM), f"'{key}' of queue type rabbit_stream_queue")
            for key in ("x-max-length", "x-message-ttl", "x-expires", "x-delivery-limit", "x-retry-delays")
        ],
        *[
            (wired(x_queue_type=queue_type, **{key: 1}), f"'{key}' of queue type rabbit_{queue_type}_queue")
            for queue_type in ("classic", "quorum")
            for key in ("x-max-age", "x-stream-max-segment-size-bytes", "x-initial-cluster-size")
        ],
        (wired(x_dead_letter_strategy="maybe", **QUORUM), "'x-dead-letter-strategy': invalid_dlx_strategy"),
        (wired(x_quorum_initial_group_size=0, **QUORUM), "'x-quorum-initial-group-size': {value_zero,0}"),
        (wired(x_delivery_limit="3", **QUORUM), "'x-delivery-limit': \"expected integer, got longstr\""),
        (wired(x_queue_leader_locator="here", **QUORUM), "'x-queue-leader-locator': invalid_queue_locator_arg"),
    ],
)
def test_f10_bad_values_are_refused(arguments, text):
    assert argument_fault(arguments) == text


def test_f10_the_first_fault_in_rabbitmqs_order_is_told():
    assert argument_fault(wired(x_overflow="no", x_max_length=-1, x_expires=0)) == "'x-expires': {value_zero,0}"
    assert argument_fault(wired(x_expires=0, x_queue_type="no")) == "'x-queue-type': \"unsupported queue type 'no'\""
    assert argument_fault(wired(x_delivery_limit=1, x_max_length=-1)) == "'x-max-length': {value_negative,-1}"


@pytest.mark.parametrize("letter", "bBsuIil")
def test_f10_integers_of_every_size_are_integers(letter):
    arguments = typed("x-max-length", letter, 5)
    assert check_declare_arguments(new_vhost(), "q", arguments) == "classic"
    assert queue_limits(arguments, "classic").length_max == 5
