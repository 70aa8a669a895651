import pytest

from pybroker.control.spec import Refused


def test_clients_to_come_are_told_the_new_name(operator):
    assert operator.ask("set_cluster_name", cluster_name="mine") is None
    start = operator.world.peer().shake_hands()
    assert start.server_properties["cluster_name"] == "mine"
    assert operator.ask("cluster_status")["cluster_name"] == "mine"


@pytest.mark.parametrize("name", ["", "x" * 256, "é" * 128])
def test_a_name_that_cannot_be_is_refused(operator, name):
    with pytest.raises(Refused) as refused:
        operator.ask("set_cluster_name", cluster_name=name)
    assert refused.value.exit_code == 65
