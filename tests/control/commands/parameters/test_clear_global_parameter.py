import pytest

from pybroker.control.spec import Refused


def test_it_is_forgotten(operator):
    operator.ask("set_global_parameter", name="a", value="1")
    operator.ask("clear_global_parameter", name="a")
    assert [] == operator.list("list_global_parameters")
    with pytest.raises(Refused, match="Parameter does not exist"):
        operator.ask("clear_global_parameter", name="a")
