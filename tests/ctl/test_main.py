"""Command lines: what is refused before any node is asked, with rabbitmqctl's texts and codes."""

import sys

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments
from pybroker.version import VERSION
from pybrokerctl import main as main_module
from pybrokerctl.main import make_call, parse_command, parse_general


def refused(what: str, given: str, usage: str) -> str:
    return f"Error (argument validation): {what}\nArguments given:\n\t{given}\n\nUsage\n\n{usage}\n"


GENERAL = "pybrokerctl [--node <node>] [--timeout <timeout>] [--quiet] "
ADD_VHOST = GENERAL + "add_vhost <vhost> [--description <description>] [--tags <tag1,tag2>]"
STATUS = GENERAL + "status [--unit <unit>]"


def test_no_command_is_answered_with_all_of_them_on_stderr(ctl):
    outcome = ctl()
    assert (outcome.code, outcome.out) == (64, "")
    assert outcome.err.startswith("\nUsage\n\npybrokerctl [--node <node>]")
    assert all(name in outcome.err for name in commands.NAMES)


@pytest.mark.parametrize("words", [["--help"], ["-?"], ["help"]])
def test_help_goes_to_stdout(ctl, words):
    outcome = ctl(*words)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("\nUsage\n")


def test_a_near_miss_names_the_command(ctl):
    assert ctl("list_queue") == (64, "", "\nCommand 'list_queue' not found. \nDid you mean 'list_queues'? \n")


def test_a_far_miss_is_answered_with_all_commands(ctl):
    outcome = ctl("no_such_command_at_all")
    assert (outcome.code, outcome.out) == (64, "")
    assert outcome.err.startswith("\nCommand 'no_such_command_at_all' not found. \n\nUsage\n")


@pytest.mark.parametrize(
    ("words", "what", "usage"),
    [
        (["add_vhost"], "not enough arguments.", ADD_VHOST),
        (["add_vhost", "a", "b", "c"], "too many arguments.", ADD_VHOST),
        (["add_vhost", "--bogus"], "Invalid options for this command:\n--bogus : ", ADD_VHOST),
        (["add_vhost", "-Z"], "Invalid options for this command:\n-Z : ", ADD_VHOST),
        (["status", "-t"], "Invalid options for this command:\n-t : option -t requires argument", STATUS),
        (["status", "--unit", "zb"], None, STATUS),
        (["status", "--formatter", "erlang"], "the requested formatter is not supported by this command", STATUS),
        (["-x", "status"], "Invalid options for this command:\n-x : ", GENERAL + "<command> [<command options>]"),
    ],
)
def test_wrong_usage_shows_what_was_given_and_how_it_goes(ctl, words, what, usage):
    what = what or "unit 'zb' is not supported. Please use one of: bytes, mb, mib, gb, gib, tb, tib"
    assert ctl(*words) == (64, "", refused(what, " ".join(words), usage))


def test_an_unknown_column_is_refused_before_the_node_is_asked(ctl):
    outcome = ctl("list_queues", "name,bogus_column")
    assert outcome.code == 64
    assert outcome.err.startswith("Error (argument validation): Info key(s) bogus_column are not supported\n")


def test_a_value_that_cannot_be_has_its_own_code(ctl):
    outcome = ctl("close_all_connections", "--limit", "many", "bye")
    assert (outcome.code, outcome.err.splitlines()[0]) == (
        65,
        "Error (argument validation): Bad argument: --limit takes an integer",
    )


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-q", "version"]])
def test_the_version(ctl, words):
    assert ctl(*words) == (0, f"{VERSION}\n", "")


@pytest.mark.parametrize("words", [["help", "ping"], ["ping", "--help"], ["-?", "ping"], ["ping", "-?"]])
def test_help_of_one_command(ctl, words):
    outcome = ctl(*words)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Checks that the daemon answers on its control socket." in outcome.out


def test_options_may_stand_before_and_after_the_command():
    general, rest = parse_general(["-q", "-p", "v", "list_queues", "-s"])
    assert (general, rest) == ({"quiet": True, "vhost": "v"}, ["list_queues", "-s"])
    options, words = parse_command(commands.load("list_queues"), ["name", "-p", "v", "messages", "--offline", "-qs"])
    assert options == {"vhost": "v", "offline": True, "quiet": True, "silent": True}
    assert words == ["name", "messages"]


def test_after_two_dashes_everything_is_an_argument():
    assert parse_command(commands.load("delete_user"), ["--", "-q"]) == ({}, ["-q"])


def test_a_commands_own_options_become_its_arguments():
    command = commands.load("close_all_connections")
    options, words = parse_command(command, ["--limit", "5", "--global", "-p", "v", "bye"])
    call = make_call(command, words, options)
    assert call.given == {"reason": "bye", "limit": 5, "everywhere": True, "vhost": "v"}


def test_a_virtual_host_is_kept_apart_where_there_is_none_to_choose():
    call = make_call(commands.load("list_users"), [], {"vhost": "v"})
    assert (call.given, call.idle_vhost) == ({}, "v")


def test_options_that_do_not_exist_are_never_passed_on():
    with pytest.raises(BadArguments):
        parse_command(commands.load("ping"), ["--if-empty"])


def test_ctrl_c_ends_with_130_and_without_a_traceback(ctl, monkeypatch):
    def interrupted(_call):
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "perform", interrupted)
    assert ctl("ping") == (130, "", "")


def test_the_words_are_those_of_the_process_by_default(ctl, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["pybrokerctl", "version"])
    assert main_module.main() == 0
    assert capfd.readouterr().out == f"{VERSION}\n"
