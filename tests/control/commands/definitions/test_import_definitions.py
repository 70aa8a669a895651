import pytest

from pybroker.control.commands.definitions.import_definitions import TOLD_MAX, Args, banner
from pybroker.control.spec import BadArguments, Refused

QUEUE = {"name": "q", "vhost": "/"}


def test_a_document_is_imported(operator):
    operator.lines = [["rabbit_version", "3.10.8"], ["queues", [QUEUE, {**QUEUE, "name": "amq.gen-x"}]]]
    answer = operator.ask("import_definitions")
    assert ["q"] == list(operator.world.vhost.queues)
    assert {"create": 1, "update": 0, "conflict": 0, "skip": 1} == {
        action: answer[action] for action in ("create", "update", "conflict", "skip")
    }
    assert answer["message"] == (
        "Definitions imported: 1 created, 1 skipped\n"
        "warning: queue 'amq.gen-x' in vhost '/' is skipped: its name begins with 'amq.'"
    )


def test_a_fault_leaves_all_as_it_was(operator):
    operator.lines = [["queues", [QUEUE, {"name": "r"}]]]
    with pytest.raises(Refused) as refused:
        operator.ask("import_definitions")
    assert 65 == refused.value.exit_code
    assert refused.value.text == (
        "The definitions cannot be imported; nothing was changed:\n * item 2 of queues: it has no virtual "
        "host; import definitions of a single virtual host with --vhost"
    )
    assert 1 == len(refused.value.facts["faults"])
    assert {} == operator.world.vhost.queues


def test_into_one_virtual_host(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.lines = [["queues", [{"name": "r"}]]]
    operator.ask("import_definitions", vhost="v")
    assert ["r"] == list(operator.world.broker.vhosts["v"].queues)


def test_the_same_again(operator):
    operator.lines = [["queues", [QUEUE]]]
    assert [False, True] == [operator.ask("import_definitions", skip_if_unchanged=True)["unchanged"] for _ in range(2)]


def test_a_stream_comes_back_as_it_was_exported(operator, peer):
    arguments = {"x-queue-type": "stream", "x-max-age": "7D", "x-max-length-bytes": 10_000}
    peer.declare("s", arguments, durable=True)
    rows = operator.list("export_definitions", file="-")
    (exported,) = [item for section, item in rows if section == "queues" and item]
    operator.ask("delete_queue", queue_name="s")
    operator.lines = [["queues", [exported]]]
    operator.ask("import_definitions")
    stream = operator.world.vhost.queues["s"]
    assert (stream.type, dict(stream.arguments), stream.limits.age_max_ms) == ("stream", arguments, 604_800_000)


def test_many_warnings_are_counted(operator):
    operator.lines = [["queues", [{**QUEUE, "name": f"amq.{n}"} for n in range(TOLD_MAX + 5)]]]
    answer = operator.ask("import_definitions")
    assert TOLD_MAX + 5 == len(answer["warnings"])
    assert answer["message"].endswith("warning: and 5 more; see the log")


def test_another_format_is_refused(operator):
    with pytest.raises(BadArguments):
        operator.ask("import_definitions", format="erlang")


def test_banners():
    assert 'Importing definitions in JSON from a file at "{file}" ...' == banner(Args("f"))
    assert "Importing definitions in JSON from standard input ..." == banner(Args()) == banner(Args("-"))


ROPE = {"vhost": "/", "name": "s", "durable": True, "arguments": {"x-queue-type": "rope"}}
UNSUPPORTED = [
    ["exchanges", [{"vhost": "/", "name": "x", "type": "x-jms-topic"}]],
    ["queues", [QUEUE, ROPE]],
    ["policies", [{"vhost": "/", "name": "p", "pattern": "", "definition": {"nope": 1}}]],
    [
        "bindings",
        [
            {"vhost": "/", "source": source, "destination": name, "destination_type": "queue", "routing_key": ""}
            for source, name in (("amq.direct", "s"), ("amq.direct", "q"), ("x", "q"))
        ],
    ],
]


def test_what_the_node_cannot_have_blocks_the_import_unless_it_is_left_out(operator):
    operator.lines = list(UNSUPPORTED)
    with pytest.raises(Refused) as refused:
        operator.ask("import_definitions")
    assert "\nuse --skip-unsupported to skip 4 of these, which the node does not support" in refused.value.text
    assert {} == operator.world.vhost.queues
    operator.lines = list(UNSUPPORTED)
    answer = operator.ask("import_definitions", skip_unsupported=True)
    assert (answer["create"], answer["skip"]) == (2, 5)
    assert ["q"] == list(operator.world.vhost.queues)
    for text in ("exchange 'x'", "queue 's'", "policy 'p'", "to queue 's'", "from exchange 'x'"):
        assert any(text in warning and "is skipped: " in warning for warning in answer["warnings"]), text


def test_the_plan_leaves_the_same_out(operator):
    operator.lines = list(UNSUPPORTED)
    rows = operator.list("definitions_plan", skip_unsupported=True)
    assert [row[0] for row in rows].count("skip") == 5


def test_what_has_no_owner_is_a_fault_all_the_same(operator):
    operator.lines = [["queues", [{**ROPE, "vhost": "nowhere"}]]]
    with pytest.raises(Refused, match="virtual host 'nowhere' does not exist"):
        operator.ask("import_definitions", skip_unsupported=True)
