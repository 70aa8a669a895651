"""Documents of any content are imported, or refused in sentences, and never break anything."""

import pytest

from tests.core.transfer.documents import golden, imported, planned
from tests.fakes import World

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


DEEP: list = []
for _ in range(900):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("section", "item"),
    [
        ("users", {"name": "u", "tags": [], "limits": {"max-channels": DEEP}}),
        ("users", {"name": DEEP, "tags": []}),
        ("vhosts", {"name": "v", "metadata": {"tags": DEEP}}),
        ("policies", {"vhost": "/", "name": "p", "pattern": "", "priority": DEEP, "definition": {"max-length": 1}}),
    ],
)
def test_no_member_may_be_nested_too_deep_to_be_told_of(section, item):
    (fault,) = imported(World(), {section: [item]}).faults
    assert "nested too deep" in fault
    assert len(fault) < 200


@pytest.mark.parametrize(
    ("section", "item", "why"),
    [
        ("users", {"name": "u", "tags": ["\ud800"]}, 'it has an unpaired surrogate: "\\ud800"'),
        ("vhosts", {"name": "v", "tags": ["a", "\udc00"]}, 'it has an unpaired surrogate: "\\udc00"'),
        ("global_parameters", {"name": "g", "value": {"\ud800": 1}}, 'it has an unpaired surrogate: "\\ud800"'),
        ("global_parameters", {"name": "g", "value": [float("inf")]}, "it has a number that is too large"),
    ],
)
def test_what_an_export_could_not_write_is_refused_wherever_it_stands(section, item, why):
    world = World()
    (fault,) = imported(world, {section: [item]}).faults
    assert fault.endswith(f": {why}")
    assert ["guest"] == [user["name"] for user in world.broker.transfer.whole()["users"]]


@pytest.mark.parametrize("member", ["password", "password_hash"])
@pytest.mark.parametrize("value", [4711, "4711\ud800"])
def test_no_fault_tells_a_password(member, value):
    (fault,) = imported(World(), {"users": [{"name": "u", "tags": [], member: value}]}).faults
    assert f"user 'u': its {member} is not a text" == fault
