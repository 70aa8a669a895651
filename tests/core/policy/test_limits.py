from dataclasses import FrozenInstanceError

import pytest

from pybroker.core.policy.limits import (
    DROP_HEAD,
    OVERFLOWS,
    REJECT_PUBLISH,
    REJECT_PUBLISH_DLX,
    QueueLimits,
)

UNLIMITED = QueueLimits()


def test_without_arguments_nothing_is_limited():
    values = {name: getattr(UNLIMITED, name) for name in UNLIMITED.__dataclass_fields__}
    assert {name for name, value in values.items() if value is not None} == {
        "overflow",
        "priority_max",
        "single_active_consumer",
        "queue_type",
        "at_least_once",
        "filter_octets",
    }
    assert (UNLIMITED.overflow, UNLIMITED.priority_max, UNLIMITED.queue_type) == (DROP_HEAD, 0, "classic")


def test_limits_are_replaced_never_changed():
    with pytest.raises(FrozenInstanceError):
        UNLIMITED.length_max = 1  # type: ignore[misc]


def test_overflows_have_their_argument_values():
    assert OVERFLOWS == {
        "drop-head": DROP_HEAD,
        "reject-publish": REJECT_PUBLISH,
        "reject-publish-dlx": REJECT_PUBLISH_DLX,
    }
