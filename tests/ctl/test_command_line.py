"""Words to `Parsed`, and what is wrong with them in rabbitmqctl's words."""

import sys

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments
from pybrokerctl.command_line import CommandLine, Parsed, UnknownCommand, find


def parsed(*words: str) -> tuple[str | None, dict, dict]:
    command, given, general = CommandLine(words).parse()
    return command and command.name, given, general


def refusal(*words: str) -> tuple[int, str]:
    with pytest.raises(BadArguments) as refused:
        CommandLine(words).parse()
    return refused.value.exit_code, refused.value.text


def test_general_options_may_stand_before_and_after_the_command_the_later_one_counts():
    assert parsed("-q", "-t", "5", "ping") == ("ping", {}, {"quiet": True, "timeout": "5"})
    assert parsed("ping", "-q", "-t", "5") == ("ping", {}, {"quiet": True, "timeout": "5"})
    assert parsed("-t", "5", "ping", "--timeout=7")[2] == {"timeout": "7"}


def test_arguments_and_options_may_be_mixed():
    words = ("list_queues", "name", "-p", "v", "messages", "--offline", "-qs")
    given = {"columns": ["name", "messages"], "vhost": "v", "offline": True}
    assert parsed(*words) == ("list_queues", given, {"quiet": True, "silent": True})


def test_values_may_be_joined_to_their_flags():
    assert parsed("list_queues", "-pv")[1] == {"vhost": "v"}
    assert parsed("list_queues", "--vhost=v")[1] == {"vhost": "v"}
    assert parsed("list_queues", "-p=v")[1] == {"vhost": "v"}
    assert parsed("list_queues", "-qp", "v")[1:] == ({"vhost": "v"}, {"quiet": True})
    assert parsed("list_queues", "-qpv")[1:] == ({"vhost": "v"}, {"quiet": True})
    assert parsed("list_queues", "-p", "")[1] == parsed("list_queues", "--vhost=")[1] == {"vhost": ""}


def test_the_words_of_a_name_may_stand_apart():
    assert parsed("log", "status", "-q") == ("log_status", {}, {"quiet": True})
    assert parsed("backup", "create", "folder") == ("backup_create", {"folder": "folder"}, {})
    assert parsed("log_status")[0] == "log_status"
    with pytest.raises(UnknownCommand):
        parsed("log")


def test_after_two_dashes_everything_is_an_argument():
    assert parsed("delete_user", "--", "-q") == ("delete_user", {"username": "-q"}, {})
    assert parsed("-q", "--", "delete_user", "a") == ("delete_user", {"username": "a"}, {"quiet": True})
    assert parsed("delete_user", "-") == ("delete_user", {"username": "-"}, {})


def test_negative_numbers_are_no_options():
    assert parsed("close_all_connections", "--limit", "-1", "bye")[1] == {"limit": -1, "reason": "bye"}
    assert parsed("set_user_tags", "u", "-1", "-2.5")[1] == {"username": "u", "tags": ["-1", "-2.5"]}
    assert parsed("-t", "-1", "ping")[2] == {"timeout": "-1"}


def test_numbers_are_numbers_also_0():
    assert parsed("close_all_connections", "--limit", "0", "bye")[1] == {"limit": 0, "reason": "bye"}
    assert refusal("close_all_connections", "--limit", "x", "bye") == (65, "Bad argument: --limit must be an integer")


def test_watch_takes_the_next_word_only_if_it_is_a_number():
    assert parsed("list_queues", "--watch", "name") == ("list_queues", {"columns": ["name"]}, {"watch": "2"})
    assert parsed("list_queues", "--watch", "0.5", "name") == ("list_queues", {"columns": ["name"]}, {"watch": "0.5"})
    assert parsed("list_queues", "--watch")[2] == {"watch": "2"}
    assert parsed("list_queues", "--watch=7")[2] == {"watch": "7"}
    assert refusal("purge_queue", "q", "--watch")[0] == 64


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["delete_user"], "not enough arguments."),
        (["pause_queue", "q"], "not enough arguments: --why is required"),
        (["delete_user", "a", "b"], "too many arguments."),
        (["delete_user", "--bogus"], "Invalid options for this command:\n--bogus : "),
        (
            ["list_queues", "--formater", "x"],
            "Invalid options for this command:\n--formater : Did you mean --formatter?",
        ),
        (["ping", "-n"], "Invalid options for this command:\n-n : Option '-n' requires an argument."),
        (
            ["ping", "--quiet=yes"],
            "Invalid options for this command:\n--quiet : Option '--quiet' does not take a value.",
        ),
        (["--if-empty", "ping"], "Invalid options for this command:\n--if-empty : "),
        (["ping", "--if-empty"], "Invalid options for this command:\n--if-empty : "),
    ],
)
def test_what_is_wrong_is_said_in_rabbitmqctls_words(words, what):
    assert refusal(*words) == (64, what)


def test_what_can_be_asked_for_may_be_missing():
    assert parsed("add_user", "u") == ("add_user", {"username": "u"}, {})
    assert parsed("add_user", "u", "") == ("add_user", {"username": "u", "password": ""}, {})


def test_help_asks_for_no_arguments():
    assert parsed("delete_user", "--help") == ("delete_user", {}, {"help": True})
    assert parsed("-?", "delete_user") == ("delete_user", {}, {"help": True})


def test_without_a_command_there_are_only_options():
    assert CommandLine([]).parse() == Parsed(None, {}, {})
    assert parsed("--version") == (None, {}, {"version": True})


def test_what_is_no_command_is_told_apart():
    with pytest.raises(UnknownCommand) as unknown:
        CommandLine(["nosuch", "--bogus"]).parse()
    assert unknown.value.name == "nosuch"
    assert find("nosuch") is None


def test_only_the_chosen_commands_file_is_loaded(monkeypatch):
    for place in commands.PLACES:
        monkeypatch.delitem(sys.modules, f"pybroker.control.commands.{place}", raising=False)
    line = CommandLine(["list_users"])
    line.parse()
    loaded = {place for place in commands.PLACES if f"pybroker.control.commands.{place}" in sys.modules}
    assert loaded == {"users.list_users"}
    assert line.chosen is commands.load("list_users")


@pytest.mark.parametrize("name", commands.NAMES)
def test_every_command_can_be_parsed_with_all_its_options(name):
    command = commands.load(name)
    words, expected = [], {}
    for field in command.fields():
        value = field.arg.choices[0] if field.arg.choices else "1"
        words += [field.arg.flags.split()[0]] if field.arg.flags else []
        words += [] if field.kind is bool else [value]
        read = True if field.kind is bool else field.kind(value)
        expected[field.name] = [read] if field.many else read
    assert CommandLine([name, *words]).parse().given == expected
