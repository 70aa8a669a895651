"""Refusals in RabbitMQ's words; `tests/flows/test_stream_refusals.py` has them as clients see them."""

import pytest

from pybroker.core.stream.refusals import check_consume, refuse_stream
from tests.topology import new_vhost, queue, refused

NAMED = "queue 's' in vhost '/'"


def test_only_streams_refuse_methods(make_stream):
    refuse_stream(queue(new_vhost(), "q"), "basic.get")
    assert refused(refuse_stream, make_stream(), "basic.get") == (
        540,
        f"basic.get not supported by stream queues {NAMED}",
    )


@pytest.mark.parametrize(
    ("no_ack", "prefetch", "prefetch_global", "fault"),
    [
        (True, 0, 9, (406, f"consumer prefetch count is not set for '{NAMED}'")),
        (True, 1, 9, (540, f"automatic acknowledgement not supported by stream queues {NAMED}")),
        (False, 1, 9, (540, f"{NAMED} does not support global qos")),
    ],
)
def test_the_prefetch_comes_first_then_acknowledgements(make_stream, no_ack, prefetch, prefetch_global, fault):
    wanted = {"no_ack": no_ack, "prefetch": prefetch, "prefetch_global": prefetch_global}
    assert refused(check_consume, make_stream(), **wanted) == fault


def test_with_a_prefetch_and_acknowledgements_nothing_is_wrong(make_stream):
    check_consume(make_stream(), no_ack=False, prefetch=1, prefetch_global=0)
