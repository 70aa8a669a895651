import pytest

from pybroker.control.spec import Refused


def test_any_json_is_kept(operator):
    for name, value in (("a", '{"a":1,"b":[1,{"c":null}]}'), ("b", '"text"'), ("a", "1.5")):
        operator.ask("set_global_parameter", name=name, value=value)
    assert [["a", "1.5"], ["b", '"text"']] == operator.list("list_global_parameters")


def test_the_clusters_name_is_one(operator):
    operator.ask("set_global_parameter", name="cluster_name", value='"mine"')
    assert "mine" == operator.world.broker.settings.cluster_name


def test_anything_else_is_refused(operator):
    with pytest.raises(Refused, match="JSON decoding error"):
        operator.ask("set_global_parameter", name="a", value="zz")
