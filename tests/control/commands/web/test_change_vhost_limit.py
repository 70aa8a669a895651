"""Single limits of virtual hosts."""

import pytest

from pybroker.control.spec import Refused


def limits(world):
    return world.broker.parameters.of("/", "vhost-limits").get("limits")


def test_each_is_set_and_cleared_alone(run, world):
    run("change_vhost_limit", name="max-queues", vhost="/", value="5")
    run("change_vhost_limit", name="max-connections", vhost="/", value="-1")
    assert limits(world) == {"max-queues": 5, "max-connections": -1}
    run("change_vhost_limit", name="max-queues", vhost="/")
    assert limits(world) == {"max-connections": -1}
    run("change_vhost_limit", name="max-queues", vhost="/")
    run("change_vhost_limit", name="max-connections", vhost="/")
    assert limits(world) == {}


@pytest.mark.parametrize(("name", "value"), [("odd", "5"), ("max-queues", '"x"'), ("max-queues", "{")])
def test_refusals(run, world, name, value):
    with pytest.raises(Refused):
        run("change_vhost_limit", name=name, vhost="/", value=value)
    assert limits(world) is None
