from pybrokerctl.command_line import CommandLine
from pybrokerctl.run import make_call


def call(*words: str):
    return make_call(CommandLine(words).parse())


def test_a_virtual_host_before_the_command_is_the_commands_own_unless_it_has_another():
    assert call("-p", "v", "list_queues").given == {"vhost": "v"}
    assert call("-p", "v", "list_queues", "-p", "w").given == {"vhost": "w"}


def test_a_virtual_host_is_kept_apart_where_there_is_none_to_choose():
    for words in (["list_users", "-p", "v"], ["-p", "v", "list_users"]):
        made = call(*words)
        assert (made.given, made.idle_vhost) == ({}, "v")
    assert call("add_vhost", "a", "-p", "v").idle_vhost == "v"


def test_arguments_are_shown_as_given_with_the_commands_usage(ctl):
    outcome = ctl("-q", "delete_user")
    assert outcome.err.startswith(
        "Error (argument validation): not enough arguments.\nArguments given:\n\t-q delete_user"
    )
    assert outcome.err.endswith("delete_user <username>\n")
