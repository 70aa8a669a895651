from io import StringIO

import pytest

from pybroker.control import commands
from pybrokerctl.command_line import LOCAL_NAMES, find
from pybrokerctl.general import ABOUT, EVERYWHERE
from pybrokerctl.help import usage


def test_every_command_is_listed_with_its_summary():
    text = usage.general_usage(StringIO())
    for command in map(find, (*LOCAL_NAMES, *commands.NAMES)):
        assert f"   {command.name:<29} {command.summary}\n" in text
    assert text.index("\nHelp:") < text.index("\nNodes:") < text.index("\nMonitoring:") < text.index("\nQueues:")


@pytest.mark.parametrize("name", commands.NAMES)
def test_the_page_of_a_command_explains_all_it_takes(name):
    command = commands.load(name)
    page = usage.command_help(command, StringIO())
    assert usage.usage_line(command) in page
    for field in command.fields():
        assert f"{usage.flags_and_label(field)}\n\t{field.arg.help}" in page
    for column in command.columns:
        assert f"   {column.name:<29} {column.help}" in page
    for option in (*EVERYWHERE, *ABOUT):
        assert option.long_with_value in page
        assert option.help in page


def test_usage_lines_are_in_rabbitmqctls_form():
    general = "pybrokerctl [--node <node>] [--timeout <timeout>] [--quiet] "
    expected = general + "delete_queue <queue_name> [--if-empty] [--if-unused] [--vhost <vhost>]"
    assert usage.usage_line(commands.load("delete_queue")) == expected
    expected = general + "set_user_tags <username> [<tag> ...]"
    assert usage.usage_line(commands.load("set_user_tags")) == expected
    expected = general + "list_users [--no-table-headers] [--watch [<seconds>]]"
    assert usage.usage_line(commands.load("list_users")) == expected


def test_a_required_option_has_no_brackets_and_alternatives_have_parentheses():
    def line(name):
        return usage.usage_line(commands.load(name)).partition(name)[2]

    assert line("pause_consumer").startswith(" <consumer_tag> --why <reason> [--queue <queue>]")
    assert line("pipeline_export").startswith(" --to <folder> (--queue <queue> | --stream <stream> | --super-stream")
    assert line("move_messages").startswith(" <source> (--to <queue> | --to-exchange <exchange>) [--routing-key <key>]")
    assert line("publish").startswith(" (<body> | --file <file>) [--vhost <vhost>] (--queue <queue> | --exchange ")


@pytest.mark.parametrize("name", commands.NAMES)
def test_alternatives_are_optional_arguments_of_the_command(name):
    command = commands.load(name)
    fields = {field.name: field for field in command.fields()}
    for group in command.one_of:
        assert not any(fields[name].required for name in group)
        assert command.check is not None


def test_flags_are_shown_long_one_first():
    fields = {field.name: field for field in commands.load("delete_queue").fields()}
    assert usage.flags_and_label(fields["if_empty"]) == "--if-empty, -e"
    assert usage.flags_and_label(fields["queue_name"]) == "<queue_name>"
    assert usage.flags_and_label(fields["vhost"]) == "--vhost, -p <vhost>"
    fields = {field.name: field for field in commands.load("peek_messages").fields()}
    assert usage.flags_and_label(fields["where"]) == "--where, --header <header=value>"


def test_a_miss_is_far_or_near():
    assert "Did you mean 'list_queues'?" in usage.unknown_command("list_queus", StringIO())
    assert "Did you mean 'version'?" in usage.unknown_command("versio", StringIO())
    # 150 lines would push the sentence off the screen.
    expected = "\nCommand 'xyz' not found. \nUse 'pybrokerctl help' to list all commands\n"
    assert expected == usage.unknown_command("xyz", StringIO())


@pytest.mark.parametrize("typed", ["declare_queue", "create_queue", "set_offset", "list_offset", "add_permissions"])
def test_what_takes_away_is_not_suggested_for_another_verb(typed):
    told = usage.unknown_command(typed, StringIO())
    assert not any(f"'{verb}_" in told for verb in usage.TAKE_AWAY)


@pytest.mark.parametrize("typed", ["delete_que", "delet_queue", "detele_queue", "dlete_queue", "del_queue"])
def test_it_is_for_its_own_verb_or_a_slip_of_it(typed):
    assert "'delete_queue'" in usage.unknown_command(typed, StringIO())


def test_names_that_are_equally_near_are_all_told():
    told = usage.unknown_command("list_policy", StringIO())
    assert "Did you mean 'set_policy' or 'list_policies'? \nUse 'pybrokerctl help' to list all commands\n" in told


def test_pages_are_wrapped_at_the_width_of_a_terminal(monkeypatch):
    class Terminal(StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "dumb")
    command = commands.load("list_queues")
    assert usage.usage_text(command, StringIO()) == usage.usage_line(command)
    pages = [usage.general_usage(Terminal()), usage.command_help(command, Terminal())]
    for page in [*pages, usage.usage_text(command, Terminal()), usage.usage_text(None, Terminal())]:
        assert max(map(len, page.expandtabs().splitlines())) < 60
        assert "\x1b" not in page


def test_the_first_word_of_commands_names_them_all():
    told = usage.unknown_command("backup", StringIO())
    assert told == (
        "\nCommand 'backup' not found. \nDid you mean 'backup create' or 'backup verify' or 'backup restore'? \n"
        "Use 'pybrokerctl help' to list all commands\n"
    )
