import json
import logging
import os
import socket
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pybroker.daemon.log import journald
from pybroker.daemon.log.journald import WAITING_MAX
from pybroker.daemon.log.log_format import ARGUMENT_CHARACTERS_MAX
from pybroker.log_event import event

JOURNALD = Path("/lib/systemd/systemd-journald")
logger = logging.getLogger("pybroker")


class Journal:
    """The socket of systemd-journald, and a parser of its protocol."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.setblocking(False)

    def entries(self):
        """Yield the fields of each entry that waits, and of one that came as a file its seals."""
        while True:
            try:
                data, rights, _, _ = self.socket.recvmsg(1_000_000, socket.CMSG_SPACE(4))
            except BlockingIOError:
                return
            for _, _, numbers in rights:
                assert b"" == data
                with os.fdopen(struct.unpack("i", numbers)[0], "rb") as file:
                    with pytest.raises(PermissionError):
                        os.truncate(file.fileno(), 0)
                    file.seek(0)
                    data = file.read()
            yield dict(fields(data))


def fields(data):
    while data:
        line, _, data = data.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            (length,) = struct.unpack("<Q", data[:8])
            value, data = data[8 : 8 + length], data[8 + length :]
            assert data.startswith(b"\n")
            data = data[1:]
        yield name.decode(), value.decode()


@pytest.fixture
def journal(log, tmp_path, monkeypatch):
    monkeypatch.setattr(journald, "SOCKET", str(tmp_path / "socket"))
    journal = Journal(tmp_path / "socket")
    log.open_journald("debug")
    yield journal
    journal.socket.close()


class Peer:
    def log_fields(self):
        return {"connection": "a -> b", "client_name": "billing", "user": "ann", "vhost": "/"}


def test_an_entry_has_the_line_its_event_and_its_fields(journal):
    logger.warning("closing %s", "a -> b", extra=event("connection.lost", Peer(), channel=3))
    (entry,) = journal.entries()
    assert {
        "MESSAGE": "closing a -> b",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "pybroker",
        "SYSLOG_PID": str(os.getpid()),
        "CODE_FILE": __file__,
        "CODE_FUNC": "test_an_entry_has_the_line_its_event_and_its_fields",
        "PYBROKER_EVENT": "connection.lost",
        "PYBROKER_CONNECTION": "a -> b",
        "PYBROKER_CLIENT_NAME": "billing",
        "PYBROKER_USER": "ann",
        "PYBROKER_VHOST": "/",
        "PYBROKER_CHANNEL": "3",
    }.items() <= entry.items()


def test_levels_have_syslogs_numbers(journal):
    for level in (10, 20, 25, 30, 40, 50):
        logger.log(level, "x")
    assert ["7", "6", "5", "4", "3", "2"] == [entry["PRIORITY"] for entry in journal.entries()]


def test_a_client_cannot_add_fields_or_lines(journal):
    logger.info("user %s", "eve\nPRIORITY=0\n\x1b[31m", extra=event("login.refused", user="e\nPYBROKER_VHOST=x\ud800"))
    (entry,) = journal.entries()
    assert ("user eve\\nPRIORITY=0\\n\\x1b[31m", "6") == (entry["MESSAGE"], entry["PRIORITY"])
    assert "e\nPYBROKER_VHOST=x\\ud800" == entry["PYBROKER_USER"]
    assert "PYBROKER_VHOST" not in entry


def test_a_long_value_is_capped(journal):
    logger.info("x", extra=event("login.refused", user="u" * 9_999))
    (entry,) = journal.entries()
    assert "u" * ARGUMENT_CHARACTERS_MAX + "..." == entry["PYBROKER_USER"]


def test_further_lines_and_a_traceback_belong_to_the_same_entry(journal):
    logger.warning("it fell", extra=event("queue.fell", more=("***", "ouch")))
    try:
        int("x")
    except ValueError:
        logger.exception("a bug", extra=event("internal.error"))
    one, other = journal.entries()
    assert "it fell\n***\nouch" == one["MESSAGE"]
    assert other["MESSAGE"].startswith("a bug\nTraceback (most recent call last):\n")


def test_an_entry_beyond_a_datagram_is_a_sealed_file(journal):
    more = tuple("x" * 4_000 for _ in range(200))
    logger.info("big", extra=event("queue.fell", more=more))
    (entry,) = journal.entries()
    assert "\n".join(("big", *more)) == entry["MESSAGE"]


def drained(journal, log):
    """Return all that the handler has, a socket's worth at a time."""
    found = []
    while new := list(journal.entries()):
        found += new
        log.flush()
    return found


def test_a_burst_waits_for_room(journal, log):
    for number in range(900):
        logger.info("line %d", number)
    assert [f"line {number}" for number in range(900)] == [entry["MESSAGE"] for entry in drained(journal, log)]


def test_a_journal_that_is_busy_costs_lines_and_no_time(journal, log):
    for number in range(10_000):
        logger.info("line %d", number)
    *kept, told = drained(journal, log)
    assert WAITING_MAX < len(kept) < 10_000
    assert [f"line {number}" for number in range(len(kept))] == [entry["MESSAGE"] for entry in kept]
    lost = 10_000 - len(kept)
    assert f"{lost} lines of the log were dropped because the journal was busy or away" == told["MESSAGE"]
    assert ("log.dropped", str(lost), "4") == (told["PYBROKER_EVENT"], told["PYBROKER_LINES"], told["PRIORITY"])
    logger.info("it reads again")
    assert ["it reads again"] == [entry["MESSAGE"] for entry in journal.entries()]


def test_a_journal_that_is_restarted_has_all_lines(journal, log, tmp_path):
    journal.socket.close()
    logger.info("nobody is there")
    (tmp_path / "socket").unlink()
    logger.info("no more than before")
    journal.socket = Journal(tmp_path / "socket").socket
    log.flush()
    assert ["nobody is there", "no more than before"] == [entry["MESSAGE"] for entry in journal.entries()]


def test_the_end_waits_for_a_journal_but_not_for_ever(journal, log, monkeypatch):
    monkeypatch.setattr(journald, "CLOSE_US_MAX", 10_000)
    for number in range(900):
        logger.info("line %d", number)
    log.close()
    assert 0 < len(list(journal.entries())) <= 900


def test_a_record_that_cannot_be_written_costs_its_caller_nothing(journal):
    class Broken:
        def log_fields(self):
            raise RuntimeError

    logger.info("x", extra=event("queue.fell", Broken()))
    logger.info("y")
    assert ["y"] == [entry["MESSAGE"] for entry in journal.entries()]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or not JOURNALD.exists(), reason="needs journald, and root to start it")
def test_systemds_journal_has_the_fields():
    # In a mount namespace of its own: nothing of the machine's journal is touched.
    program = """
        import logging
        from pybroker.daemon.log.log import Log
        from pybroker.log_event import event
        Log().open_journald("info")
        more = tuple("x" * 4_000 for _ in range(200))
        logging.getLogger("pybroker").warning("it\\nfell", extra=event("queue.fell", queue="q\\nr"))
        logging.getLogger("pybroker").warning("big", extra=event("queue.big", more=more))
    """
    script = f"""
        set -e
        mount -t tmpfs tmpfs /run
        mkdir -p /run/systemd/journal /run/log/journal
        {JOURNALD} 2>/run/said & journald=$!
        while [ ! -S /run/systemd/journal/socket ]; do sleep 0.1; done
        {sys.executable} -c "$PROGRAM"
        journalctl -D /run/log/journal --sync 2>/dev/null || true
        until journalctl -D /run/log/journal -q PYBROKER_EVENT=queue.big | grep -q big; do sleep 0.1; done
        journalctl -D /run/log/journal -q -o json --all SYSLOG_IDENTIFIER=pybroker
        kill $journald
    """
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", script]
    environ = {**os.environ, "PROGRAM": textwrap.dedent(program)}
    run = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == run.returncode, run.stderr
    one, big = map(json.loads, run.stdout.splitlines())
    assert ("it\\nfell", "queue.fell", "q\nr") == (one["MESSAGE"], one["PYBROKER_EVENT"], one["PYBROKER_QUEUE"])
    assert 800_000 < len(big["MESSAGE"])
