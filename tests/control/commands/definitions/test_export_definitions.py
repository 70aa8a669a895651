import pytest

from pybroker.control.commands.definitions.export_definitions import Args, banner
from pybroker.control.spec import Refused


def test_sections_and_items_as_rows(operator):
    """F9: version 3.10's sections, all of them."""
    operator.world.connect().declare("q", durable=True)
    rows = operator.list("export_definitions", file="-")
    assert ["pybroker"] == [item for section, item in rows if section == "product_name"]
    opened = [section for section, item in rows if item is None]
    of_vhosts = ["exchanges", "policies", "parameters", "queues", "bindings"]
    of_the_node = ["users", "vhosts", "permissions", "topic_permissions", "global_parameters"]
    assert sorted([*of_the_node, *of_vhosts]) == sorted(opened)
    queue = {"vhost": "/", "name": "q", "type": "classic", "durable": True, "auto_delete": False, "arguments": {}}
    assert [queue] == [item for section, item in rows if section == "queues" and item]


def test_of_one_virtual_host(operator):
    operator.ask("add_vhost", vhost_name="v")
    rows = operator.list("export_definitions", file="-", vhost="v")
    assert "users" not in {section for section, _ in rows}
    with pytest.raises(Refused, match="Virtual host 'w' does not exist"):
        operator.list("export_definitions", file="-", vhost="w")


def test_banners():
    assert 'Exporting definitions in JSON to a file at "{file}" ...' == banner(Args("f"))
    assert "" == banner(Args("-"))
