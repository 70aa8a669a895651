"""One call from its words to its exit code, against a daemon that answers from a script."""

import io
import json
import os
import sys

import pytest

from pybroker.control.spec import BadArguments
from pybrokerctl.call import DRY_RUN
from pybrokerctl.options import Options

BANNER = "Timeout: 60.0 seconds ...\nListing queues for vhost / ...\n"
QUEUES = [{"columns": ["name", "messages"]}, ["a", 1], ["b", 2], {"end": 2}]


@pytest.fixture
def queues(daemon):
    daemon.lines = QUEUES
    return daemon


def test_a_listing_has_banner_header_and_rows(ctl, queues):
    assert ctl("list_queues") == (0, BANNER + "name\tmessages\na\t1\nb\t2\n", "")
    assert queues.requests == [("list_queues", {})]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-q"], "name\tmessages\na\t1\nb\t2\n"),
        (["-s"], "a\t1\nb\t2\n"),
        (["--no-table-headers"], BANNER + "a\t1\nb\t2\n"),
        (["-q", "--pad-to-header"], "name\tmessages\na   \t1       \nb   \t2       \n"),
        (["--formatter", "csv"], '"name","messages"\n"a",1\n"b",2\n'),
        (["-s", "--formatter", "csv"], '"name","messages"\n"a",1\n"b",2\n'),
        (["--formatter=json"], '[\n{"name":"a","messages":1}\n,{"name":"b","messages":2}\n]\n'),
        (["-t", "5"], BANNER.replace("60.0", "5.0") + "name\tmessages\na\t1\nb\t2\n"),
    ],
)
def test_options_shape_the_answer(ctl, queues, words, expected):
    assert ctl("list_queues", *words) == (0, expected, "")
    assert ctl(*words, "list_queues") == (0, expected, "")


def test_without_rows_there_is_no_header(ctl, daemon):
    daemon.lines = [{"columns": ["name", "messages"]}, {"end": 0}]
    assert ctl("list_queues") == (0, BANNER, "")
    assert ctl("list_queues", "-q", "--formatter", "pretty_table") == (0, "", "")
    assert ctl("list_queues", "--formatter", "json") == (0, "[\n]\n", "")


def test_sentences_in_every_formatter(ctl, daemon):
    daemon.lines = [{"value": "Ping succeeded"}, {"end": 0}]
    assert ctl("ping", "-q") == (0, "Ping succeeded\n", "")
    assert ctl("ping", "-s") == (0, "", "")
    assert ctl("ping", "-q", "--formatter", "csv") == (0, '"Ping succeeded"\n', "")
    message = {"result": "ok", "node": "pybroker@vm", "message": "Ping succeeded"}
    assert json.loads(ctl("ping", "--formatter", "json").out) == message


def test_plain_success_says_nothing_but_its_banner(ctl, daemon):
    assert ctl("purge_queue", "q") == (0, "Purging queue 'q' in vhost '/' ...\n", "")
    assert ctl("purge_queue", "q", "-q") == (0, "", "")
    assert json.loads(ctl("purge_queue", "q", "--formatter", "json").out) == {"result": "ok", "node": "pybroker@vm"}


def test_banners_take_the_arguments_as_they_are(ctl, daemon):
    assert ctl("set_user_tags", "{u}", "a", "b").out == 'Setting tags for user "{u}" to [a, b] ...\n'
    assert ctl("delete_queue", "q", "-e").out == "Deleting queue 'q' on vhost '/' if queue is empty ...\n"
    assert ctl("ping").out.endswith("Timeout: 60000 ms.\n")


def test_a_refusal_goes_to_stderr_with_its_code_below_the_banner(ctl, daemon):
    daemon.lines = [{"error": {"text": "Virtual host 'x' does not exist", "exit_code": 65}}]
    outcome = ctl("list_queues", "-p", "x")
    assert outcome == (65, BANNER.replace("/", "x"), "Error:\nVirtual host 'x' does not exist\n")
    assert daemon.requests[-1] == ("list_queues", {"vhost": "x"})


def test_programs_get_their_refusal_as_json(ctl, daemon):
    daemon.lines = [{"error": {"text": "no", "exit_code": 65}}]
    outcome = ctl("list_queues", "--formatter", "json")
    assert (outcome.code, outcome.out) == (65, "")
    assert json.loads(outcome.err) == {"result": "error", "node": "pybroker@vm", "message": "no"}


def test_programs_get_what_a_refusal_was_made_of(ctl, daemon):
    daemon.lines = [{"error": {"text": "Memory alarm", "exit_code": 69, "facts": {"local": ["Memory alarm"]}}}]
    expected = {"result": "error", "node": "pybroker@vm", "local": ["Memory alarm"], "message": "Memory alarm"}
    assert json.loads(ctl("check_alarms", "--formatter", "json").err) == expected
    assert ctl("check_alarms", "-q").err == "Error:\nMemory alarm\n"


def test_b11_what_is_odd_about_arguments_is_said_on_stderr_and_done(ctl, daemon):
    daemon.lines = [{"value": "Memory limit set to 1 octets"}, {"end": 0}]
    words = ("set_vm_memory_high_watermark", "1.5")
    warning = (
        "warning: 1.5 times the available memory is a limit that cannot be exceeded: the memory alarm "
        "will never be set\n"
    )
    assert ctl(*words, "-q") == (0, "Memory limit set to 1 octets\n", warning)
    assert ctl(*words, "-s") == (0, "", "")
    assert ctl("set_vm_memory_high_watermark", "1", "-q").err == ""


def test_a_refusal_in_the_midst_of_rows_leaves_the_rows(ctl, daemon):
    daemon.lines = [*QUEUES[:2], {"error": {"text": "the rest is lost", "exit_code": 70}}]
    assert ctl("list_queues", "-s") == (70, "a\t1\n", "Error:\nthe rest is lost\n")


def test_a_daemon_that_dies_in_the_midst_of_rows_is_told(ctl, daemon):
    daemon.lines = QUEUES[:2]
    outcome = ctl("list_queues", "-s")
    text = "Error:\nnode pybroker@vm disconnected before its answer was complete\n"
    assert outcome == (69, "a\t1\n", text)


def test_a_dry_run_asks_nobody(ctl, queues):
    assert ctl("--dry-run", "list_queues") == (0, BANNER, f"note: {DRY_RUN}\n")
    assert ctl("--dry-run", "-q", "list_queues") == (0, "", "")
    assert ctl("--dry-run", "list_queues", "bogus").code == 64
    assert queues.requests == []


def test_no_node_is_one_sentence_and_diagnostics(ctl, folder):
    outcome = ctl("ping")
    assert (outcome.code, outcome.out) == (69, "")
    first = "Error: unable to perform an operation on node 'pybroker@vm'. Please see diagnostics information"
    assert outcome.err.startswith(first)
    assert f"control socket {folder}/pybroker@vm.sock: no such file or directory" in outcome.err
    assert "suggestion: start the node: pybroker" in outcome.err


def test_no_node_in_json(ctl, folder):
    error = json.loads(ctl("ping", "--formatter", "json").err)
    why = f"{folder}/pybroker@vm.sock: No such file or directory"
    assert error["message"] == f"node pybroker@vm does not respond: {why}"


def test_a_silent_daemon_is_not_waited_for_longer_than_asked(ctl, daemon):
    daemon.silent = True
    outcome = ctl("-t", "0.05", "list_queues", "-q")
    text = "Error: operation list_queues on node pybroker@vm timed out. Timeout value used: 50\n"
    assert outcome == (75, "", text)


def test_ping_and_status_have_their_own_code_for_it(ctl, daemon):
    daemon.silent = True
    text = "Error: timed out while waiting for a response from pybroker@vm.\n"
    assert ctl("-t", "0.05", "ping", "-q") == (70, "", text)


@pytest.mark.parametrize("word", ["0", "-1", "abc", "nan", "1e99"])
def test_a_time_that_cannot_be_is_refused(word):
    with pytest.raises(BadArguments):
        Options.read({"timeout": word})


def test_infinity_is_for_ever(ctl, queues):
    assert Options.read({"timeout": "infinity"}).timeout_s == 0
    assert ctl("-t", "infinity", "list_queues").out.startswith("Timeout: infinity seconds ...\n")


def test_a_virtual_host_without_effect_is_said(ctl, daemon):
    daemon.lines = [{"columns": ["user", "tags"]}, {"end": 0}]
    note = "note: list_users does not work on a virtual host, so -p has no effect\n"
    assert ctl("list_users", "-p", "v") == (0, "Listing users ...\n", note)
    assert ctl("list_users", "-p", "v", "-q") == (0, "", "")


def test_rabbits_node_name_means_the_local_node_and_it_is_said(ctl, daemon):
    daemon.lines = [{"value": "Ping succeeded"}, {"end": 0}]
    outcome = ctl("-n", "rabbit@vm", "ping")
    assert (outcome.code, outcome.err) == (0, "note: rabbit@vm means the local node pybroker@vm\n")
    assert ctl("-n", "rabbit@vm", "ping", "-q") == (0, "Ping succeeded\n", "")
    assert ctl("-n", "pybroker@vm", "ping", "-q").err == ""
    assert ctl("-n", "pybroker", "ping").err == ""


def test_another_node_than_the_one_named_is_not_talked_to(ctl, daemon):
    text = f"Error:\nthe node at {daemon.path} is pybroker@vm, not other@vm\n"
    for words in (["--socket", str(daemon.path), "-n", "other@vm", "stop"], ["-n", "other@vm", "delete_user", "u"]):
        outcome = ctl("--socket", str(daemon.path), *words)
        assert outcome == (69, "", text)
    assert daemon.requests == []


def test_what_would_steer_a_terminal_is_shown_escaped(ctl, daemon):
    daemon.lines = [{"error": {"text": "no \x1b[31m\r", "exit_code": 65}}]
    outcome = ctl("delete_queue", "a\x1b[2J\nb")
    assert outcome == (65, "Deleting queue 'a\\033[2J\nb' on vhost '/' ...\n", "Error:\nno \\033[31m\\r\n")


def test_a_password_is_read_from_stdin_when_it_is_missing(ctl, daemon, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret\n"))
    assert ctl("add_user", "u").code == 0
    assert daemon.requests == [("add_user", {"username": "u", "password": "secret"})]


def test_no_password_at_all_is_refused(ctl, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    outcome = ctl("add_user", "u")
    assert outcome.code == 65
    assert "Password is not provided via argument or stdin" in outcome.err


def test_an_empty_password_may_be_given(ctl, daemon):
    assert ctl("add_user", "u", "").code == 0
    assert daemon.requests == [("add_user", {"username": "u", "password": ""})]


def test_stop_without_a_node_succeeds_only_if_that_is_wanted(ctl):
    assert ctl("stop").code == 69
    assert ctl("stop", "--idempotent") == (0, "", "")


def test_stop_refuses_a_pid_file_of_another_process(ctl, daemon, tmp_path):
    other = tmp_path / "other.pid"
    other.write_text("1\n")
    outcome = ctl("stop", str(other))
    assert outcome.code == 69
    assert f"names process 1, but the node is process {os.getpid()}" in outcome.err
    other.write_text("one\n")
    assert "could not read pid from file" in ctl("stop", str(other)).err
    assert "could not read pid from file" in ctl("stop", str(tmp_path / "none")).err
    assert daemon.requests == []


def test_stop_waits_until_the_process_is_gone(ctl, daemon):
    # The scripted daemon lives in this process, which does not end.
    outcome = ctl("-t", "0.05", "stop")
    assert outcome.code == 75
    assert daemon.requests == [("stop", {})]


def test_a_status_document_has_its_own_view(ctl, daemon):
    daemon.lines = [{"value": {"a": 1}}, {"end": 0}]
    assert json.loads(ctl("status", "--formatter", "json").out) == {"a": 1}
    assert ctl("status", "--formatter", "csv").out == '"key","value"\n"a",1\n'


def test_a_health_check_that_fails_is_silent_with_s_alone(ctl, daemon):
    daemon.lines = [{"error": {"text": "Memory alarm on node pybroker@vm: much", "exit_code": 69}}]
    assert (69, "", "") == ctl("-s", "check_alarms")
    assert "Memory alarm on node pybroker@vm: much" in ctl("-q", "check_alarms").err


@pytest.mark.parametrize(("command", "code"), [("list_queues", 69), ("check_alarms", 64)])
def test_what_is_no_health_checks_answer_is_told_with_s_as_well(ctl, daemon, command, code):
    daemon.lines = [{"error": {"text": "why", "exit_code": code}}]
    assert (code, "Error:\nwhy\n") == ctl("-s", command)[::2]


def test_a_listing_may_be_a_document(ctl, daemon):
    daemon.lines = [{"value": {"message": '{"max-queues":1}', "value": '{"max-queues":1}'}}, {"end": 0}]
    assert '{"max-queues":1}\n' == ctl("-s", "list_vhost_limits", "-p", "v").out
    assert '{"max-queues":1}' == json.loads(ctl("list_vhost_limits", "--formatter", "json").out)["value"]


def test_of_a_large_file_that_is_no_pid_file_little_is_shown(ctl, daemon, folder):
    path = folder / "large"
    path.write_text("x" * 1_000_000)
    outcome = ctl("-q", "stop", str(path))
    assert (69, "") == (outcome.code, outcome.out)
    assert f"could not read pid from file {path}. File contents: {'x' * 64}..." in outcome.err
    assert len(outcome.err) < 400
