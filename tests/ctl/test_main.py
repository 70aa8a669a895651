"""Command lines: what is refused before any node is asked, with rabbitmqctl's texts and codes."""

import subprocess
import sys

import pytest

from pybroker.control import commands
from pybroker.version import VERSION
from pybrokerctl import main as main_module, run as run_module


def refused(what: str, given: str, usage: str) -> str:
    return f"Error (argument validation): {what}\nArguments given:\n\t{given}\n\nUsage\n\n{usage}\n"


GENERAL = "pybrokerctl [--node <node>] [--timeout <timeout>] [--quiet] "
ADD_VHOST = (
    GENERAL + "add_vhost <vhost> [--description <description>] [--tags <tag1,tag2>] [--default-queue-type <type>]"
)
STATUS = GENERAL + "status [--unit <unit>] [--watch [<seconds>]]"


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
    code, out, err = ctl("list_queue")
    assert (code, out) == (64, "")
    assert err.startswith("\nCommand 'list_queue' not found. \nDid you mean 'list_queues'? \n")


def test_a_far_miss_is_told_how_to_get_all_commands(ctl):
    told = "\nCommand 'no_such_command_at_all' not found. \nUse 'pybrokerctl help' to list all commands\n"
    assert ctl("no_such_command_at_all") == (64, "", told)


@pytest.mark.parametrize(
    ("words", "what", "usage"),
    [
        (["add_vhost"], "not enough arguments.", ADD_VHOST),
        (["add_vhost", "a", "b", "c"], "too many arguments.", ADD_VHOST),
        (["add_vhost", "--bogus"], "Invalid options for this command:\n--bogus : ", ADD_VHOST),
        (["add_vhost", "-Z"], "Invalid options for this command:\n-Z : ", ADD_VHOST),
        (["status", "-t"], "Invalid options for this command:\n-t : Option '-t' requires an argument.", STATUS),
        (["status", "--unit", "zb"], None, STATUS),
        (
            ["status", "--formatter", "erlang"],
            "the requested formatter is not supported by this command\nSupported are: table, pretty_table, json, csv",
            STATUS,
        ),
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
        "Error (argument validation): Bad argument: --limit must be an integer",
    )


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-q", "version"]])
def test_the_version(ctl, words):
    assert ctl(*words) == (0, f"{VERSION}\n", "")


@pytest.mark.parametrize("words", [["help", "ping"], ["ping", "--help"], ["-?", "ping"], ["ping", "-?"]])
def test_help_of_one_command(ctl, words):
    outcome = ctl(*words)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Checks that the daemon responds on its control socket." in outcome.out


def test_a_piped_call_loads_nothing_that_only_people_need(daemon):
    daemon.lines = [{"columns": ["name", "messages"]}, ["a", 1], {"end": 1}]
    code = "import sys; from pybrokerctl.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    words = [sys.executable, "-c", code, "--socket", str(daemon.path), "list_queues"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stderr.split())
    assert "pybroker.control.commands.listings.list_queues" in loaded
    commands_loaded = [name for name in loaded if name.startswith("pybroker.control.commands.")]
    assert sorted(commands_loaded) == [
        "pybroker.control.commands.listings",
        "pybroker.control.commands.listings.list_queues",
    ]
    slow = {
        "click",
        "rich",
        "difflib",
        "shutil",
        "subprocess",
        "importlib.metadata",
        "termios",
        "shlex",
        "dataclasses",
        "email",
    }
    assert loaded & slow == set()


def test_ctrl_c_ends_with_130_and_without_a_traceback(ctl, monkeypatch):
    def interrupted(_call):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "perform", interrupted)
    assert ctl("ping") == (130, "", "")


def test_the_words_are_those_of_the_process_by_default(ctl, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["pybrokerctl", "version"])
    assert main_module.main() == 0
    assert capfd.readouterr().out == f"{VERSION}\n"
