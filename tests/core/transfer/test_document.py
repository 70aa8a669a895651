import pytest

from pybroker.core.transfer.document import Document, read_item
from pybroker.core.transfer.fields import Fault
from tests.core.transfer.documents import golden

QUEUE = {"vhost": "/", "name": "q"}


def value(section, **raw):
    return read_item(section, raw).value


def fault(section, raw, **options):
    with pytest.raises(Fault) as caught:
        read_item(section, raw, **options)
    return str(caught.value)


def test_what_an_old_version_left_out():
    """F9: files of all versions come to one form."""
    assert {
        "vhost": "/",
        "name": "q",
        "type": None,
        "durable": True,
        "auto_delete": False,
        "exclusive": False,
        "arguments": {},
    } == value("queues", **QUEUE)
    assert {"apply-to": "all", "priority": 0} == {
        name: each
        for name, each in value("policies", vhost="/", name="p", pattern="", definition={"a": 1}).items()
        if name in {"apply-to", "priority"}
    }
    exchange = value("exchanges", vhost="/", name="x", type="direct")
    assert [True, False, False, {}] == [exchange[name] for name in ("durable", "auto_delete", "internal", "arguments")]
    assert ["administrator"] == value("users", name="u", administrator=True)["tags"]
    assert [] == value("users", name="u", administrator=False)["tags"]


@pytest.mark.parametrize(
    ("version", "algorithm"),
    [
        ("3.5.7", "rabbit_password_hashing_md5"),
        ("3.6.0", "rabbit_password_hashing_sha256"),
        ("3.10.8", "rabbit_password_hashing_sha256"),
        ("", "rabbit_password_hashing_sha256"),
    ],
)
def test_a_hash_without_its_algorithm_is_what_the_version_used(version, algorithm):
    item = read_item("users", {"name": "u", "tags": "", "password_hash": "x"}, version=version)
    assert algorithm == item.value["hashing_algorithm"]


def test_passwords():
    assert ("", None) == tuple(value("users", name="u", tags=[])[name] for name in ("password_hash", "password"))
    clear = value("users", name="u", tags=[], password="secret")
    assert ("secret", None, None) == tuple(clear[n] for n in ("password", "password_hash", "hashing_algorithm"))
    both = {"name": "u", "tags": [], "password": "p", "password_hash": "h"}
    assert "user 'u': it has both a password and a password_hash" == fault("users", both)


def test_metadata_of_a_virtual_host_stand_in_two_places():
    """Version 3.10 has them in an object, later ones above it too."""
    whole = {"description": "d", "tags": "a,b", "default_queue_type": "quorum"}
    for raw in ({"metadata": whole}, whole, {**whole, "metadata": {"description": "other"}}):
        found = value("vhosts", name="v", **raw)
        assert ("d", ["a", "b"], "quorum") == tuple(found[n] for n in ("description", "tags", "default_queue_type"))
    nothing = value("vhosts", name="v", metadata={"default_queue_type": "undefined", "tags": None})
    assert (None, None, None) == tuple(nothing[n] for n in ("description", "tags", "default_queue_type"))


def test_values_of_known_parameters_may_be_pairs():
    limits = {"vhost": "/", "component": "vhost-limits", "name": "limits", "value": [["max-queues", 5]]}
    assert {"max-queues": 5} == value("parameters", **limits)["value"]
    operator = {"vhost": "/", "component": "operator_policy", "name": "o"}
    pattern = [["pattern", "^a"], ["definition", [["max-length", 1]]]]
    assert {"pattern": "^a", "definition": {"max-length": 1}} == value("parameters", **operator, value=pattern)["value"]
    # Unknown fields stay as they are.
    assert [["a", 1]] == value("parameters", **{**limits, "component": "shovel", "value": [["a", 1]]})["value"]
    assert [["a", 1]] == value("global_parameters", name="g", value=[["a", 1]])["value"]


@pytest.mark.parametrize(
    ("section", "raw", "sentence"),
    [
        ("queues", 5, "item 3 of queues is not an object but 5"),
        ("queues", {"vhost": "/"}, "item 3 of queues: it has no name"),
        (
            "queues",
            {**QUEUE, "durable": "yes"},
            "queue 'q' in vhost '/': its durable is neither true nor false but \"yes\"",
        ),
        ("queues", {**QUEUE, "arguments": "x"}, "queue 'q' in vhost '/': its arguments is not an object but \"x\""),
        ("users", {"name": "u"}, "user 'u': it has no tags"),
        (
            "permissions",
            {"user": "u", "vhost": "/", "read": ""},
            "permissions of user 'u' in vhost '/': it has no configure",
        ),
        (
            "parameters",
            {"vhost": "/", "component": "c", "name": "n"},
            "parameter 'n' of component 'c' in vhost '/': it has no value",
        ),
        (
            "bindings",
            {"vhost": "/", "source": "x", "destination": "q", "destination_type": "topic", "routing_key": "k"},
            (
                "binding from exchange 'x' to topic 'q' by routing key 'k' in vhost '/': "
                'its destination_type is neither queue nor exchange but "topic"'
            ),
        ),
    ],
)
def test_a_fault_names_the_item_and_the_reason(section, raw, sentence):
    assert sentence == fault(section, raw, number=3)


def test_a_document_of_one_virtual_host_goes_into_one():
    text = "item 0 of queues: it has no virtual host; import definitions of a single virtual host with --vhost"
    assert text == fault("queues", {"name": "q"})
    assert "v" == read_item("queues", {"name": "q"}, vhost="v").value["vhost"]
    # RabbitMQ too takes no notice of what the item says.
    assert ("v", "q") == read_item("queues", QUEUE, vhost="v").key


def read(content, vhost=None):
    document = Document(vhost)
    for name, items in content.items():
        for _ in document.read(name, items):
            pass
    document.finish()
    return document


def test_the_order_is_rabbitmqs():
    sections = [item.section for item in read(golden())]
    first = ["users", "vhosts", "permissions", "topic_permissions", "exchanges", "global_parameters", "policies"]
    assert [*first, "parameters", "queues", "bindings"] == list(dict.fromkeys(sections))
    assert len(sections) == len(read(golden()))


def test_of_two_alike_the_later_one_updates_and_the_first_one_exists():
    document = read(
        {
            "users": [{"name": "u", "tags": "a"}, {"name": "u", "tags": "b"}],
            "queues": [{**QUEUE, "durable": True}, {**QUEUE, "durable": False}],
        }
    )
    assert [["b"], True] == [item.value.get("tags", item.value.get("durable")) for item in document]


def test_limits_in_a_virtual_hosts_item_count_unless_a_parameter_has_them():
    alone = read({"vhosts": [{"name": "v", "limits": [["max-queues", 5]]}, {"name": "w", "limits": []}]})
    assert {"max-queues": 5} == alone.sections["parameters"]["v", "vhost-limits", "limits"].value["value"]
    assert 1 == len(alone.sections["parameters"])
    parameter = {"vhost": "v", "component": "vhost-limits", "name": "limits", "value": {"max-queues": 9}}
    both = read({"vhosts": [{"name": "v", "limits": [["max-queues", 5]]}], "parameters": [parameter]})
    assert {"max-queues": 9} == both.sections["parameters"]["v", "vhost-limits", "limits"].value["value"]


def test_what_is_not_taken_is_told():
    document = read({"users": [{"name": "u", "tags": ""}], "rules": [1], "note": "x", "queues": {}}, vhost="v")
    assert 0 == len(document)
    assert [
        "users are skipped, since they are not in a virtual host (--vhost v)",
        "section 'rules' is unknown and skipped",
    ] == list(document.warnings)
    assert ["queues is not a list but {}"] == document.faults
