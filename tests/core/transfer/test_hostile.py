"""Whatever stands in a document: it is imported or refused in sentences, and never breaks anything."""

import pytest
from fakes import World

from .documents import golden, imported, planned

VALUES = [
    None,
    True,
    0,
    -1,
    1 << 70,
    1.5,
    "",
    "x" * 300,
    "\ud800",
    "a\0\n",
    [],
    [[]],
    [["a", 1]],
    ["a"],
    {},
    {"a": None},
]
MISSING = object()


def variants(section, item):
    """Yield documents in which one member of an item is another one, or none."""
    for name in item:
        for value in (*VALUES, MISSING):
            changed = {key: each for key, each in item.items() if key != name}
            yield {section: [changed if value is MISSING else {**changed, name: value}]}
            if isinstance(item[name], dict):
                for inner in item[name]:
                    yield {section: [{**changed, name: {**item[name], inner: value if value is not MISSING else None}}]}


@pytest.mark.parametrize("section", [name for name, items in golden().items() if isinstance(items, list)])
def test_any_member_may_be_anything(section):
    """F9: what a fuzzer or a typing error makes of an item."""
    world = World()
    imported(world, {"vhosts": golden()["vhosts"], "users": golden()["users"]})
    count = 0
    for document in (each for item in golden()[section][:6] for each in variants(section, item)):
        outcome = planned(world, document)
        assert all(isinstance(fault, str) and fault for fault in outcome.faults)
        count += 1
    assert count


def test_what_is_nested_too_deep_is_refused():
    deep = []
    for _ in range(900):
        deep = [deep]
    of_vhost = {"vhost": "/", "name": "n"}
    document = {
        "global_parameters": [{"name": "g", "value": deep}],
        "parameters": [{**of_vhost, "component": "c", "value": {"a": deep}}],
        "policies": [{**of_vhost, "pattern": "", "definition": {"max-length": deep}}],
        "queues": [{**of_vhost, "arguments": {"a": deep}}],
    }
    assert 4 == sum("nested too deep" in fault for fault in planned(World(), document).faults)


def test_what_a_plan_takes_an_import_can_do():
    """The same things, but done: what was checked is never refused half-way."""
    for section in ("users", "vhosts", "permissions", "exchanges", "policies", "parameters", "queues", "bindings"):
        world = World()
        imported(world, golden())
        for document in variants(section, golden()[section][-1]):
            outcome = imported(world, document)
            assert "" == outcome.stopped, document
