import pytest

from pybroker.control.commands.import_definitions import TOLD_MAX, Args, banner
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
        "Definitions imported: 1 created, 1 left out\n"
        "warning: queue 'amq.gen-x' in vhost '/' is left out: its name begins with 'amq.'"
    )


def test_a_fault_leaves_all_as_it_was(operator):
    operator.lines = [["queues", [QUEUE, {"name": "r"}]]]
    with pytest.raises(Refused) as refused:
        operator.ask("import_definitions")
    assert 65 == refused.value.exit_code
    assert refused.value.text == (
        "The definitions cannot be imported, and nothing was changed:\n"
        " * item 2 of queues: it names no virtual host; definitions of a single one are imported with --vhost"
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


def test_many_warnings_are_counted(operator):
    operator.lines = [["queues", [{**QUEUE, "name": f"amq.{n}"} for n in range(TOLD_MAX + 5)]]]
    answer = operator.ask("import_definitions")
    assert TOLD_MAX + 5 == len(answer["warnings"])
    assert answer["message"].endswith("warning: and 5 more: see the log")


def test_another_format_is_refused(operator):
    with pytest.raises(BadArguments):
        operator.ask("import_definitions", format="erlang")


def test_banners():
    assert 'Importing definitions in JSON from a file at "{file}" ...' == banner(Args("f"))
    assert "Importing definitions in JSON from standard input ..." == banner(Args()) == banner(Args("-"))
