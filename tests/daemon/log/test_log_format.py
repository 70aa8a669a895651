import json
import logging
import os

from pybroker.daemon.log.log_format import ARGUMENT_CHARACTERS_MAX, LINE_CHARACTERS_MAX, JsonFormatter, quoted
from pybroker.log_event import event
from tests.daemon.log.test_log import LINE, lines_of, logger


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


def test_printable_text_is_kept_as_it_is():
    assert quoted("right\u202eleft\u2028", 100) == r"right\u202eleft\u2028"
    assert quoted("Grüße, 世界 \\n", 100) == "Grüße, 世界 \\n"


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
