import pytest

from pybroker.daemon.conf_file import parse_conf, read_conf_file
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


@pytest.mark.parametrize("text", ["[{rabbit, [\n {heartbeat, 1}\n]}].", "%% -*- erlang -*-\n[]."])
def test_rabbitmqs_classic_form_is_one_problem(text):
    _, problems = parse_conf(text.encode(), "f")
    assert problems == ["f:1: this is RabbitMQ's classic form (Erlang terms); pybroker reads 'key = value' lines"]


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
