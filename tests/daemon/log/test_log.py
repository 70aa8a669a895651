import errno
import json
import logging
import os
import re
import select
import socket
import stat
from pathlib import Path

import pytest

from pybroker.daemon.config.config import Config
from pybroker.daemon.log import journald
from pybroker.daemon.start_error import StartError

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d \[(\w+)\] <0\.\d+\.0> (.*)")
logger = logging.getLogger("pybroker")


def lines_of(path):
    return [LINE.fullmatch(line).groups() for line in path.read_text().splitlines()]


def test_a_level_is_the_least_that_is_written(log, tmp_path):
    log.open_file(tmp_path / "l.log", "warning")
    logger.info("no")
    logger.warning("yes")
    assert lines_of(tmp_path / "l.log") == [("warning", "yes")]


def test_level_none_writes_nothing(log, tmp_path):
    log.open_file(tmp_path / "l.log", "none")
    logger.critical("no")
    assert (tmp_path / "l.log").read_text() == ""


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


def test_a_line_of_which_a_full_disk_took_a_part_is_ended_before_the_next_one(log, tmp_path, monkeypatch):
    path = tmp_path / "l.log"
    log.open_file(path, "info")
    logger.info("one")
    room, write = [10], os.write

    def fill(file, octets):
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = write(file, octets[: room[0]])
        room[0] -= taken
        return taken

    monkeypatch.setattr(os, "write", fill)
    logger.info("two")
    logger.info("three")
    room[0] = 1_000
    logger.info("four")
    logger.info("five")
    monkeypatch.undo()
    lines = path.read_text().splitlines()
    assert [len(lines), lines[1]] == [5, lines[0][:10]]
    assert [LINE.fullmatch(line)[2] for line in (lines[0], *lines[2:])] == [
        "one",
        "four",
        "2 lines of the log were lost: No space left on device",
        "five",
    ]


def test_a_torn_line_is_ended_when_its_file_is_opened_again(log, tmp_path):
    path = tmp_path / "l.log"
    path.write_text("torn")
    log.open_file(path, "info")
    logger.info("one")
    with path.open("a") as file:
        file.write("torn")
    log.reopen()
    logger.info("two")
    lines = path.read_text().splitlines()
    assert (lines[0], lines[2]) == ("torn", "torn")
    assert [LINE.fullmatch(line)[2] for line in (lines[1], lines[3])] == ["one", "two"]


def test_a_full_disk_stops_neither_a_rotation_nor_the_end(log):
    log.open_file(Path("/dev/full"), "info")
    logger.info("one")
    assert log.reopen() == ""
    logger.info("two")
    log.close()


def test_a_pipe_is_not_waited_for(log, tmp_path):
    path = tmp_path / "l.log"
    os.mkfifo(path)
    with pytest.raises(StartError, match="cannot write the log"):
        log.open_file(path, "info")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        log.open_file(path, "info")
        for _ in range(2_000):
            logger.info("x" * 100)
        while select.select([reader], [], [], 0)[0]:
            os.read(reader, 65_536)
        logger.info("again")
        found = os.read(reader, 65_536).decode()
    finally:
        os.close(reader)
    assert re.search(r"lines of the log were lost: Resource temporarily unavailable\n$", found)


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
    monkeypatch.setattr("pybroker.daemon.log.log.TAIL_OCTETS_MAX", 100_000)
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


def test_a_reader_has_what_is_logged_while_it_follows_and_no_more_than_it_can_take(log, monkeypatch):
    monkeypatch.setattr("pybroker.daemon.log.log.FOLLOWED_MAX", 2)
    logger = logging.getLogger("pybroker")
    logger.setLevel(logging.INFO)
    with log.follow() as take:
        for number in range(4):
            logger.info("line %d", number)
        assert ["line 0"] == [line.rpartition("> ")[2] for line in take(1)]
        assert ["line 1", "... 2 lines dropped because the reader is too slow"] == [
            line.rpartition("> ")[2] for line in take(9)
        ]
        assert [] == take(9)
    assert [] == [one for one in logger.handlers if type(one).__name__ == "_Follower"]


def configured(tmp_path, **attributes):
    config = Config(log_file=tmp_path / "l.log", **attributes)
    config.settings.node_name = "a@b"
    return config


def test_a_configuration_says_where_lines_go_from_which_level_on(log, tmp_path, capsys):
    log.open(configured(tmp_path, console=True, console_level="debug", console_stdio="stderr"))
    logger.debug("detail")
    logger.info("news")
    assert ["news"] == [text for _, text in lines_of(tmp_path / "l.log")]
    out, err = capsys.readouterr()
    assert ("", ["detail", "news"]) == (out, [LINE.fullmatch(line)[2] for line in err.splitlines()])


def test_levels_and_forms_can_be_changed_together(log, tmp_path, capsys):
    log.open(configured(tmp_path, console=True))
    log.reconfigure(configured(tmp_path, log_level="debug", log_formatter="json", console_level="none", journald=True))
    logger.debug("detail")
    assert "" == capsys.readouterr().out
    line = json.loads((tmp_path / "l.log").read_text())
    assert ("detail", "debug", "a@b") == (line["msg"], line["level"], line["node"])
    log.reconfigure(configured(tmp_path, log_level="error", console_level="none"))
    assert not logger.isEnabledFor(logging.INFO), "no record is made that nobody writes"


def test_a_journal_that_is_missing_is_one_sentence(log, tmp_path, monkeypatch):
    monkeypatch.setattr("pybroker.daemon.log.journald.SOCKET", str(tmp_path / "none"))
    with pytest.raises(StartError, match="cannot log to journald"):
        log.open(configured(tmp_path, journald=True))


def test_where_a_line_is_logged_from_is_found_out_for_the_journal_alone(log, tmp_path, monkeypatch):
    log.open_file(tmp_path / "x.log", "info")
    assert (None, False) == (logging._srcfile, logging.logThreads)
    monkeypatch.setattr(journald, "SOCKET", str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(tmp_path / "socket"))
        log.open_journald("info")
        logging.getLogger("pybroker").info("a line")
        assert f"CODE_FILE={__file__}\n".encode() in journal.recv(65_536)
