import pytest

from pybroker.control.spec import Refused


def test_the_tags_are_replaced(operator):
    operator.ask("set_vhost_tags", vhost="/", tags=["a", "b", "a"])
    assert [["/", ["a", "b"]]] == operator.list("list_vhosts", "name", "tags")
    operator.ask("set_vhost_tags", vhost="/")
    assert [[]] == operator.list("list_vhosts", "tags")


def test_what_there_is_not_is_refused(operator):
    with pytest.raises(Refused, match="Virtual host 'v' does not exist"):
        operator.ask("set_vhost_tags", vhost="v", tags=["a"])
