"""pipeline_tap has a stream keep what goes through an exchange."""

import pytest

from pybroker.control.commands.pipeline.pipeline_tap import LENGTH_OCTETS_MAX
from pybroker.control.spec import BadArguments
from pybroker.errors import PreconditionFailed


def tap(operator, **given):
    return operator.ask("pipeline_tap", exchange="amq.topic", stream="tap", **given)


def test_a_new_stream_has_a_limit(operator, world):
    document = tap(operator)
    assert document["message"] == "New stream 'tap' keeps what goes through exchange 'amq.topic'"
    assert document["made"] is True
    assert world.broker.vhosts["/"].queues["tap"].limits.octets_max == LENGTH_OCTETS_MAX


def test_or_the_limits_that_were_given(operator, world):
    tap(operator, max_age="7D")
    limits = world.broker.vhosts["/"].queues["tap"].limits
    assert (limits.age_max_ms, limits.octets_max) == (604_800_000, None)


def test_an_old_one_stays_as_it_is(operator):
    tap(operator, max_age="7D")
    assert tap(operator)["message"] == "Stream 'tap' keeps what goes through exchange 'amq.topic'"
    with pytest.raises(PreconditionFailed, match="x-max-age"):
        tap(operator, max_age="1D")


def test_it_ends(operator, world):
    tap(operator, key=["a", "b"])
    ended = tap(operator, remove=True, key=["a"])
    assert ended["message"] == "Stream 'tap' gets nothing from exchange 'amq.topic' any more by 1 binding"
    assert tap(operator, remove=True)["bindings"] == 1
    assert "tap" in world.broker.vhosts["/"].queues


@pytest.mark.parametrize(
    "given",
    [
        {"stream": ""},
        {"stream": "x" * 256},
        {"stream": "tap", "key": ["x" * 256]},
        {"stream": "tap", "max_length_bytes": 0},
        {"stream": "tap", "remove": True, "max_age": "1h"},
    ],
)
def test_what_cannot_be_is_refused(operator, given):
    with pytest.raises(BadArguments):
        operator.ask("pipeline_tap", exchange="amq.topic", **given)
