import pytest

from pybroker.control import commands
from pybrokerctl import usage
from pybrokerctl.main import ABOUT, GENERAL


def test_every_general_option_is_explained():
    explained = {word.split()[0] for short, long, _ in usage.GENERAL_OPTIONS for word in (short, long) if word}
    accepted = {flag for _, flags, _ in (*GENERAL, *ABOUT) for flag in flags.split()}
    assert explained == accepted - {"--man-page"}


def test_every_command_is_listed_with_its_summary():
    text = usage.general_usage()
    for command in map(commands.load, commands.NAMES):
        assert f"   {command.name:<29} {command.summary}\n" in text
    assert text.index("\nHelp:") < text.index("\nNodes:") < text.index("\nMonitoring:") < text.index("\nQueues:")


@pytest.mark.parametrize("name", commands.NAMES)
def test_the_page_of_a_command_explains_all_it_takes(name):
    command = commands.load(name)
    page = usage.command_help(command)
    assert usage.usage_line(command) in page
    for field in command.fields():
        assert f"{usage.flags_and_label(field)}\n\t{field.arg.help}" in page
    for column in command.columns:
        assert f"   {column.name:<29} {column.help}" in page


def test_usage_lines_are_in_rabbitmqctls_form():
    general = "pybrokerctl [--node <node>] [--timeout <timeout>] [--quiet] "
    expected = general + "delete_queue <queue_name> [--if-empty] [--if-unused] [--vhost <vhost>]"
    assert usage.usage_line(commands.load("delete_queue")) == expected
    expected = general + "set_user_tags <username> [<tag> ...]"
    assert usage.usage_line(commands.load("set_user_tags")) == expected
    assert usage.usage_line(commands.load("list_users")) == general + "list_users [--no-table-headers]"


def test_flags_are_shown_long_one_first():
    fields = {field.name: field for field in commands.load("delete_queue").fields()}
    assert usage.flags_and_label(fields["if_empty"]) == "--if-empty, -e"
    assert usage.flags_and_label(fields["queue_name"]) == "<queue_name>"
    assert usage.flags_and_label(fields["vhost"]) == "--vhost, -p <vhost>"


def test_a_miss_is_far_or_near():
    assert "Did you mean 'list_queues'?" in usage.unknown_command("list_queus")
    assert "Did you mean 'version'?" in usage.unknown_command("versio")
    assert "Available commands:" in usage.unknown_command("xyz")
