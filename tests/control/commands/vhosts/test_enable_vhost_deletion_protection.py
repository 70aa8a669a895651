import pytest

from pybroker.control.spec import Refused
from pybroker.core.transfer.exported import vhost_item


def test_a_protected_virtual_host_is_not_deleted_and_exported_as_such(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("enable_vhost_deletion_protection", vhost_name="v")
    with pytest.raises(Refused, match="protected from deletion"):
        operator.ask("delete_vhost", vhost_name="v")
    assert vhost_item(operator.world.broker.vhosts["v"])["metadata"]["protected_from_deletion"] is True


def test_an_unknown_one_is_refused(operator):
    with pytest.raises(Refused, match="does not exist"):
        operator.ask("enable_vhost_deletion_protection", vhost_name="v")
