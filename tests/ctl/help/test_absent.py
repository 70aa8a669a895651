from pybroker.control import commands
from pybrokerctl.command_line import LOCAL_NAMES
from pybrokerctl.help import absent


def test_what_it_does_there_why_not_here_and_what_to_do_instead_are_one_sentence(ctl):
    code, out, err = ctl("join_cluster")
    expected = (
        "RabbitMQ's join_cluster adds the node to a cluster; a pybroker node runs alone: 'pybrokerctl "
        "export_definitions' and 'backup create' copy a node's contents."
    )
    assert (64, "") == (code, out)
    assert ["", "Command 'join_cluster' not found. ", expected] == err.splitlines()[:3]


def test_no_command_is_both_there_and_explained_away():
    assert [name for name in (*LOCAL_NAMES, *commands.NAMES) if absent.explain(name)] == []


def test_of_other_names_nothing_is_said():
    assert absent.explain("no_such_command") == ""
