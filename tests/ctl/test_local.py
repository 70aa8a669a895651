import pytest

from pybroker.control import commands
from pybroker.version import VERSION
from pybrokerctl import local
from pybrokerctl.command_line import LOCAL_NAMES


def test_the_table_holds_what_is_promised():
    assert sorted(local.COMMANDS) == sorted(LOCAL_NAMES)
    assert all(name == command.name for name, command in local.COMMANDS.items())


def test_the_version(ctl):
    assert ctl("version") == ctl("--version", "ping") == (0, f"{VERSION}\n", "")


def test_names_can_be_listed_for_a_program(ctl):
    assert ctl("help", "--list-commands") == (0, "\n".join([*LOCAL_NAMES, *commands.NAMES]) + "\n", "")


def test_commands_by_their_beginning(ctl):
    assert ctl("autocomplete", "list_us") == (
        0,
        "list_users\nlist_user_limits\nlist_user_permissions\nlist_user_topic_permissions\n",
        "",
    )
    assert ctl("autocomplete", "zz").code == 64


def test_help_of_what_does_not_exist_names_what_comes_near(ctl):
    said = "\nCommand 'list_queu' not found. \nDid you mean 'list_queues' or 'list_users'? \n"
    assert ctl("help", "list_queu") == (64, "", f"{said}Use 'pybrokerctl help' to list all commands\n")


@pytest.mark.parametrize("words", [("stream", "read"), ("stream_read",)])
def test_help_knows_a_name_of_several_words(ctl, words):
    outcome = ctl("help", *words)
    assert (outcome.code, outcome.err) == (0, "")
    assert " stream_read <stream>" in outcome.out


@pytest.mark.parametrize("shell", local.SHELLS)
def test_a_shells_script(ctl, shell):
    outcome = ctl("completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"_PYBROKERCTL_COMPLETE={shell}_complete" in outcome.out


def test_no_script_for_a_shell_we_do_not_know(ctl):
    assert ctl("completion", "tcsh").code == 64
