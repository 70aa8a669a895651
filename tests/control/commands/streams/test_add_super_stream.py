import pytest

from pybroker.control.spec import BadArguments
from pybroker.errors import PreconditionFailed


def test_three_partitions_unless_told_otherwise(operator, world):
    assert operator.ask("add_super_stream", super_stream="x") == "Super stream was made with 3 partitions"
    assert set(world.broker.vhosts["/"].queues) == {"x-0", "x-1", "x-2"}


def test_partitions_by_key_and_their_arguments(operator, world):
    given = {"binding_keys": "emea, apac", "max_age": "7D", "max_length_bytes": 5_000, "segment_size": 500}
    operator.ask("add_super_stream", super_stream="x", **given)
    stream = world.broker.vhosts["/"].queues["x-apac"]
    assert stream.limits.age_max_ms == 604_800_000
    assert stream.limits.octets_max == 5_000
    assert stream.limits.segment_octets_max == 500


def test_the_exchange_hashes_if_asked(operator, world):
    operator.ask("add_super_stream", super_stream="x", partitions=2, hashed=True)
    assert world.broker.vhosts["/"].exchanges["x"].TYPE == "x-super-stream"


@pytest.mark.parametrize(
    "given",
    [
        {"super_stream": ""},
        {"super_stream": "x" * 251},
        {"super_stream": "x", "partitions": 0},
        {"super_stream": "x", "partitions": 1_001},
        {"super_stream": "x", "partitions": 3, "binding_keys": "a"},
        {"super_stream": "x", "hashed": True, "binding_keys": "a"},
        {"super_stream": "x", "max_length_bytes": 0},
        {"super_stream": "x", "leader_locator": "nearest"},
    ],
)
def test_what_cannot_be_is_refused(operator, given):
    with pytest.raises(BadArguments, match="Bad argument"):
        operator.ask("add_super_stream", **given)


def test_what_exists_is_no_new_one(operator):
    operator.ask("add_super_stream", super_stream="x")
    with pytest.raises(PreconditionFailed, match="exists already"):
        operator.ask("add_super_stream", super_stream="x")
