import pytest

from pybroker.control.arguments.stream_groups import find_group
from pybroker.control.spec import Refused
from tests.control.made_stream import make_stream


def test_a_group_is_found_by_stream_and_name(world):
    stream = make_stream(world)
    group = world.broker.streams.groups.group(stream, "g")
    assert find_group(world, world.vhost, "s", "g") is group
    with pytest.raises(Refused, match="stream 's' has no group of consumers 'h'"):
        find_group(world, world.vhost, "s", "h")
