import json
import logging
import os
import re
import stat

import pytest

from pybroker.daemon.log import ARGUMENT_CHARACTERS_MAX, LINE_CHARACTERS_MAX, JsonFormatter, Log, quoted
from pybroker.daemon.start_error import StartError
from pybroker.log_event import event

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d \[(\w+)\] <0\.\d+\.0> (.*)")
logger = logging.getLogger("pybroker")


@pytest.fixture
def log():
    level = logger.level
    log = Log()
    yield log
    log.close()
    logger.setLevel(level)
    logger.propagate = True
    logging.raiseExceptions = True


def lines_of(path):
    return [LINE.fullmatch(line).groups() for line in path.read_text().splitlines()]


def test_a_line_has_rabbitmqs_form(log, tmp_path):
    log.open_file(tmp_path / "l.log", "debug")
    logger.info("Server startup complete; %d plugins started.", 0)
    logger.warning("beware")
    logger.log(25, "note")
    assert lines_of(tmp_path / "l.log") == [
        ("info", "Server startup complete; 0 plugins started."),
        ("warning", "beware"),
        ("notice", "note"),
    ]


def test_a_level_is_the_least_that_is_written(log, tmp_path):
    log.open_file(tmp_path / "l.log", "warning")
    logger.info("no")
    logger.warning("yes")
    assert lines_of(tmp_path / "l.log") == [("warning", "yes")]


def test_level_none_writes_nothing(log, tmp_path):
    log.open_file(tmp_path / "l.log", "none")
    logger.critical("no")
    assert (tmp_path / "l.log").read_text() == ""


def test_a_client_cannot_break_a_line_or_colour_a_terminal(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info")
    logger.info("user '%s'", "eve\n2024-01-01 [info] forged\x1b[31m\x00")
    logger.info("user %.256r", "a\nb")
    logger.info("in the text\nitself \ud800")
    assert [text for _, text in lines_of(tmp_path / "l.log")] == [
        "user 'eve\\n2024-01-01 [info] forged\\x1b[31m\\x00'",
        "user 'a\\nb'",
        "in the text\\nitself \\ud800",
    ]


def test_a_long_argument_is_capped_and_the_rest_stays_readable(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info")
    logger.info("user '%s' is refused", "x" * 100_000)
    logger.info("y" * 100_000)
    first, second = [text for _, text in lines_of(tmp_path / "l.log")]
    assert first == f"user '{'x' * ARGUMENT_CHARACTERS_MAX}...' is refused"
    assert second == "y" * LINE_CHARACTERS_MAX + "..."


def test_named_arguments_are_capped_too(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info")
    logger.info("user %(name)s", {"name": "a\tb"})
    assert lines_of(tmp_path / "l.log") == [("info", "user a\\tb")]


def test_a_traceback_follows_indented(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info")
    try:
        int("bad\nthing")
    except ValueError:
        logger.exception("it failed")
    first, *rest = (tmp_path / "l.log").read_text().splitlines()
    assert LINE.fullmatch(first).groups() == ("error", "it failed")
    assert rest[0] == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in rest)


def test_a_rotated_file_is_followed(log, tmp_path):
    path = tmp_path / "l.log"
    log.open_file(path, "info")
    logger.info("one")
    path.rename(tmp_path / "l.log.1")
    logger.info("two")
    log.reopen()
    logger.info("three")
    assert [text for _, text in lines_of(tmp_path / "l.log.1")] == ["one", "two"]
    assert [text for _, text in lines_of(path)] == ["three"]


def test_a_file_that_cannot_be_reopened_keeps_the_old_one(log, tmp_path):
    folder = tmp_path / "logs"
    log.open_file(folder / "l.log", "info")
    folder.rename(tmp_path / "old")
    log.reopen()
    logger.info("still here")
    texts = [text for _, text in lines_of(tmp_path / "old" / "l.log")]
    assert texts[-1] == "still here"
    assert texts[0].startswith("cannot reopen the log: ")


def test_the_console_gets_the_same_lines(log, capsys):
    log.open_console("info")
    logger.info("hello")
    assert LINE.fullmatch(capsys.readouterr().out.strip()).groups() == ("info", "hello")


def test_a_file_that_cannot_be_written_is_one_sentence(log, tmp_path):
    (tmp_path / "f").touch()
    with pytest.raises(StartError) as caught:
        log.open_file(tmp_path / "f" / "l.log", "info")
    assert caught.value.code == 73
    assert caught.value.text.startswith(f"cannot write the log {tmp_path}/f/l.log: ")


def test_others_cannot_read_the_file(log, tmp_path):
    path = tmp_path / "l.log"
    mask = os.umask(0)
    try:
        log.open_file(path, "info")
        path.unlink()
        log.reopen()
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_printable_text_is_kept_as_it_is():
    assert quoted("right\u202eleft\u2028", 100) == r"right\u202eleft\u2028"
    assert quoted("Grüße, 世界 \\n", 100) == "Grüße, 世界 \\n"


def test_the_last_lines_are_read_from_the_end(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info")
    for n in range(3_000):
        logger.info("line %d %s", n, "x" * 50)
    tail = log.tail(2_000)
    assert len(tail) == 2_000
    assert [line.split()[-2] for line in tail[:: len(tail) - 1]] == ["1000", "2999"]
    assert len(log.tail(5_000)) == 3_000
    assert log.tail(0) == []


def test_no_more_is_read_than_a_limit(log, tmp_path, monkeypatch):
    monkeypatch.setattr("pybroker.daemon.log.TAIL_OCTETS_MAX", 100_000)
    log.open_file(tmp_path / "l.log", "info")
    for _ in range(3_000):
        logger.info("%s", "x" * 100)
    assert 600 < len(log.tail(3_000)) < 1_000


def test_without_a_file_there_is_no_tail(log, tmp_path):
    assert log.tail(5) is None
    log.open_file(tmp_path / "l.log", "info")
    (tmp_path / "l.log").unlink()
    assert log.tail(5) is None


def test_the_level_can_be_changed(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info")
    logger.debug("not this")
    log.set_level("debug")
    logger.debug("this")
    log.set_level("none")
    logger.critical("nor this")
    assert [text for _, text in lines_of(tmp_path / "l.log")] == ["this"]


def test_json_lines_have_rabbitmqs_keys():
    record = logging.LogRecord("pybroker", logging.WARNING, "", 0, "a %s", ("line\nbreak",), None)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert ("warning", "a line\nbreak", f"<0.{os.getpid()}.0>") == (found["level"], found["msg"], found["pid"])
    assert found["time"].startswith("20")


def test_json_lines_have_the_event_and_its_fields(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info", "json")
    facts = {"queue": "q" * 1_000, "messages": 3, "level": "mine"}
    logger.warning("it fell", extra=event("queue.fell", None, more=("***", "ouch"), **facts))
    logger.warning("of a library")
    one, other = map(json.loads, (tmp_path / "l.log").read_text().splitlines())
    assert "it fell\n***\nouch" == one["msg"]
    assert ("queue.fell", 3) == (one["event"], one["messages"])
    assert "q" * ARGUMENT_CHARACTERS_MAX + "..." == one["queue"]
    assert "warning" == one["level"], "fields do not hide what every line has"
    assert "" == other["event"]


def test_what_else_an_event_has_to_say_begins_as_its_first_line(log, tmp_path):
    log.open_file(tmp_path / "l.log", "info")
    logger.warning("it fell", extra=event("queue.fell", more=("***", "ou\nch")))
    assert [("warning", "it fell"), ("warning", "***"), ("warning", "ou\\nch")] == lines_of(tmp_path / "l.log")


def test_a_reader_has_what_is_logged_while_it_follows_and_no_more_than_it_can_take(log, monkeypatch):
    monkeypatch.setattr("pybroker.daemon.log.FOLLOWED_MAX", 2)
    logger = logging.getLogger("pybroker")
    logger.setLevel(logging.INFO)
    with log.follow() as take:
        for number in range(4):
            logger.info("line %d", number)
        assert ["line 0"] == [line.rpartition("> ")[2] for line in take(1)]
        assert ["line 1", "... 2 lines dropped because the log is too slow"] == [
            line.rpartition("> ")[2] for line in take(9)
        ]
        assert [] == take(9)
    assert [] == [one for one in logger.handlers if type(one).__name__ == "_Follower"]
