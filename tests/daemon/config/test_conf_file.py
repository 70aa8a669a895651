import os
from pathlib import Path

import pytest

from pybroker.daemon.config.conf_file import parse_conf, read_conf_file
from pybroker.daemon.start_error import StartError


def parsed(text):
    assignments, problems = parse_conf(text.encode(), "f")
    assert problems == []
    return {each.key: each.value for each in assignments}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("heartbeat = 60", "60"),
        ("heartbeat=60", "60"),
        ("  heartbeat   =   60   ", "60"),
        ("heartbeat = 60 # seconds", "60"),
        ("heartbeat = 60# seconds", "60"),
        ("heartbeat = two words", "two words"),
        ("heartbeat = 'a # b'", "a # b"),
        ("heartbeat = ' a '  # kept", " a "),
        ("heartbeat = ''", ""),
        ("heartbeat =", ""),
        ("heartbeat = a=b", "a=b"),
        ("heartbeat = 60\r", "60"),
    ],
)
def test_a_line_is_a_key_and_a_value(line, value):
    assert parsed(line) == {"heartbeat": value}


def test_comments_and_empty_lines_say_nothing():
    assert parsed("# a = b\n\n   \n## c = d\n#e=f\n") == {}


def test_an_assignment_knows_its_line():
    assignments, _ = parse_conf(b"# one\n\na = 1\n", "/etc/p.conf")
    assert assignments[0].where == "/etc/p.conf:3"


@pytest.mark.parametrize("line", ["heartbeat", "= 60", "a b = 1"])
def test_a_line_without_key_and_value_is_a_problem(line):
    assert parse_conf(line.encode(), "f") == ([], [f"f:1: expected 'key = value', found {line!r}"])


@pytest.mark.parametrize(
    "text",
    [
        "[{rabbit, [\n {heartbeat, 1}\n]}].",
        "%% -*- erlang -*-\n[{rabbit,[{heartbeat,1}]}].",
        " \n\t[{rabbit,[{heartbeat,1}]}].",
    ],
)
def test_b12_the_classic_form_is_recognised_by_what_is_in_it(text):
    assert parsed(text) == {"heartbeat": "1"}


@pytest.mark.parametrize("text", ["{rabbit, []}.", "# no comment there\n[].", "% nothing else"])
def test_what_looks_like_the_classic_form_is_judged_as_such(text):
    assignments, (problem,) = parse_conf(text.encode(), "f")
    assert assignments == []
    assert "expected [{rabbit, [...]}]." in problem or "expected a term" in problem


def test_a_bracket_further_on_is_a_value():
    assert parsed("listeners.tcp.a = [::1]:5672\n") == {"listeners.tcp.a": "[::1]:5672"}


@pytest.mark.parametrize("octets", [b"a = \0", b"a\x1b = 1", b"data_dir = /a\x7f"])
def test_a_control_character_is_a_problem_of_its_line(octets):
    assert parse_conf(octets, "f") == ([], ["f:1: a control character"])


def test_a_file_may_have_any_name(tmp_path):
    (tmp_path / "rabbitmq.config").write_text("[{rabbit, [{heartbeat, 1}]}].")
    assignments, problems = read_conf_file(tmp_path / "rabbitmq.config")
    assert problems == []
    assert assignments[0].where == f"{tmp_path}/rabbitmq.config:1"


def test_a_file_that_is_too_large_is_not_read_to_its_end():
    with pytest.raises(StartError) as caught:
        read_conf_file(Path("/dev/zero"))
    assert caught.value.code == 78
    assert caught.value.text == "the configuration file /dev/zero has more than 1048576 octets"


def test_a_named_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StartError) as caught:
        read_conf_file(tmp_path / "pipe")
    assert caught.value.text == f"cannot read the configuration file {tmp_path}/pipe: not a regular file"


def test_a_line_with_a_password_is_not_shown():
    assert parse_conf(b"default_pass secret", "f") == (
        [],
        ["f:1: expected 'key = value', found no ="],
    )
    assert parse_conf(b"default_users.a.password secret", "f") == (
        [],
        ["f:1: expected 'key = value', found no ="],
    )


def test_a_key_may_be_set_once():
    assignments, problems = parse_conf(b"a = 1\nb = 2\na = 3", "f")
    assert [each.key for each in assignments] == ["a", "b"]
    assert problems == ["f:3: a is already set in line 1"]


def test_octets_that_are_not_utf8_are_a_problem_of_their_line():
    assignments, problems = parse_conf(b"a = \xff\nb = 2", "f")
    assert [each.key for each in assignments] == ["b"]
    assert problems == ["f:1: not valid UTF-8"]


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(StartError) as caught:
        read_conf_file(tmp_path / "no.conf")
    assert caught.value.code == 66
    assert caught.value.text == f"cannot read the configuration file {tmp_path}/no.conf: No such file or directory"


@pytest.mark.parametrize(
    "octets",
    [
        b"# # a" * 200_000,
        b"a = " + b" b" * 500_000,
        b"a = b" + b" " * 1_000_000 + b"#",
        b"a" * 1_000_000,
        b" " * 1_000_000,
    ],
)
def test_a_long_line_costs_no_more_than_its_length(octets):
    assignments, problems = parse_conf(octets, "f")
    assert len(assignments) + len(problems) <= 1
