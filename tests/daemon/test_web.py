"""pybroker-web beside a running daemon: started, started again, ended with it."""

import itertools
import json
import os
import signal
import socket
import ssl
import tempfile
import time
import urllib.request
from pathlib import Path

import gevent
import psutil
import pytest

from pybroker.core.events.notices import Notices
from pybroker.daemon import boot, web
from pybroker.daemon.web import LIFE_S, LINE_OCTETS_MAX, Web, restart_pause_s
from pybroker.version import RABBITMQ_VERSION
from tests.certificates import make_certificates
from tests.daemon.running import BASE, Running

WAIT_S = 60.0


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


@pytest.fixture
def short_folder():
    # pytest's own folders have names longer than a socket's path may be.
    with tempfile.TemporaryDirectory(prefix="web") as name:
        yield Path(name)


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def config(tmp_path, port):
    path = tmp_path / "web.conf"
    path.write_text(f"prometheus.tcp.port = {port}\nmanagement.enabled = false\n")
    return path


def scrape(port, wanted="rabbitmq_identity_info{"):
    """Return the metrics, as soon as they are served."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                text = answer.read().decode()
                if wanted in text:
                    return text
        except OSError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)


def child_of(running):
    (child,) = psutil.Process(running.pid).children()
    return child


def test_it_is_there_again_after_a_kill_and_goes_with_the_node(short_folder, config, port):
    running = Running(short_folder, config=config, web=True)
    assert 'rabbitmq_node="test@here"' in scrape(port)
    first = child_of(running)
    assert first.nice() == psutil.Process(running.pid).nice() + 5
    assert os.sched_getscheduler(first.pid) == os.SCHED_BATCH
    first.kill()
    scrape(port)
    second = child_of(running)
    assert second.pid != first.pid
    code, errors = running.stop()
    assert (code, errors) == (0, "")
    assert not second.is_running() or second.status() == psutil.STATUS_ZOMBIE
    log = "".join(path.read_text() for path in short_folder.rglob("*.log"))
    assert f"pybroker-web: listening on 127.0.0.1:{port} for metrics" in log
    assert "pybroker-web ended with -9; starting it again in 1 s" in log
    assert not list(short_folder.glob("*.web"))


def test_it_ends_when_the_node_is_killed(short_folder, config, port):
    running = Running(short_folder, config=config, web=True)
    scrape(port)
    child = child_of(running)
    os.kill(running.pid, signal.SIGKILL)
    child.wait(WAIT_S)
    running.stop()


def test_a_port_that_is_taken_is_told_once_and_used_when_it_is_free(short_folder, config, port):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        running = Running(short_folder, config=config, web=True)
        text = f"cannot listen on 127.0.0.1:{port} for metrics (Address already in use); trying again"
        assert running.places["metrics"] == [f"http://127.0.0.1:{port}/metrics{boot.TAKEN}"]
        deadline = time.monotonic() + WAIT_S
        while text not in (log := "".join(path.read_text() for path in short_folder.rglob("*.log"))):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1.5)
        assert f"pybroker-web {text}" in running.ctl("alarms")
    assert log.count(text) == 1
    scrape(port)
    assert "pybroker-web" not in running.ctl("alarms")
    running.stop()


def a_web():
    """Return one that has no socket and no child."""
    made = Web.__new__(Web)
    made._notices, made._warnings = Notices(), {}
    return made


def test_operators_are_shown_where_the_child_cannot_listen_until_it_can():
    made = a_web()
    busy = "warning: cannot listen on 127.0.0.1:{} for {} (Address already in use); trying again"
    made._hear(busy.format(1, "metrics"))
    made._hear(busy.format(2, "HTTP API and web interface over TLS"))
    made._hear(busy.format(1, "metrics").replace("already ", ""))
    assert [text[:45] for text in made._notices] == [
        "pybroker-web cannot listen on 127.0.0.1:2 for",
        "pybroker-web cannot listen on 127.0.0.1:1 for",
    ]
    made._hear("listening on 127.0.0.1:2 for HTTP API and web interface over TLS")
    made._hear("listening on 127.0.0.1:3 for metrics")
    assert [text[:45] for text in made._notices] == ["pybroker-web cannot listen on 127.0.0.1:1 for"]
    made._hear("listening on 127.0.0.1:1 for metrics")
    assert made._notices == []


def test_pauses_grow_until_a_child_lives():
    pauses = list(itertools.accumulate(range(8), lambda last, _: restart_pause_s(last, 0.1), initial=0.0))
    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert restart_pause_s(60.0, LIFE_S) == 1.0


def test_a_line_without_an_end_is_cut(caplog):
    reading, writing = os.pipe()
    with caplog.at_level("INFO", "pybroker"), gevent.Timeout(WAIT_S):
        telling = gevent.spawn(a_web()._tell, os.fdopen(reading, "rb"))
        for _ in range(5):
            os.write(writing, b"x" * 60_000)
            gevent.sleep(0.01)
        os.write(writing, b"\nnext\n")
        os.close(writing)
        telling.get()
    cut, following = [record.getMessage() for record in caplog.records]
    assert len(cut) < LINE_OCTETS_MAX + 70_000
    assert following == "pybroker-web: next"


def test_without_it_there_is_neither_child_nor_socket(short_folder):
    running = Running(short_folder)
    assert psutil.Process(running.pid).children() == []
    assert not list(Path(short_folder).glob("*.web"))
    running.stop()


def serves_https(port, authority):
    """Return the version of the API, as soon as it is served over HTTPS."""
    context = ssl.create_default_context(cafile=str(authority))
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            with urllib.request.urlopen(f"https://localhost:{port}/api/version", timeout=10, context=context) as answer:
                return json.load(answer)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_api_is_served_over_https_with_certificates_that_fit(short_folder, tmp_path, config):
    made, port, folder = make_certificates(tmp_path), free_port(), short_folder
    certificate = tmp_path / "copy.pem"
    certificate.write_bytes(made.server.certificate.read_bytes())
    lines = f"management.tcp.port = 0\nmanagement.ssl.port = {port}\n"
    lines += f"management.ssl.certfile = {certificate}\nmanagement.ssl.keyfile = {made.server.key}\n"
    config.write_text(config.read_text().replace("management.enabled = false\n", lines))
    running = Running(folder, config=config, web=True)
    assert serves_https(port, made.authority.certificate) == RABBITMQ_VERSION
    certificate.write_bytes(made.stranger.certificate.read_bytes())
    assert "the key does not belong to the certificate" in running.ctl("config_reload", expected=78)
    assert running.stop() == (0, "")
    refused = Running(folder, config=config, web=True)
    assert not refused.serves
    code, errors = refused.ended()
    assert (code, "the key does not belong to the certificate" in errors) == (78, True)


def test_requests_are_in_the_log_at_debug(short_folder, config, port):
    running = Running(short_folder, *BASE, "--log-level", "debug", config=config, web=True)
    scrape(port)
    running.wait_for_log("pybroker-web: GET /metrics by - at 127.0.0.1: status 200, ")
    running.ctl("set_log_level", "info")
    running.stop()


def test_lines_of_the_child_that_are_no_requests_are_logged_as_they_are(caplog):
    with caplog.at_level("DEBUG", "pybroker"):
        for line in ("warning: it burns", "words", '{"time": '):
            web._log(line)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "pybroker-web: it burns"),
        ("INFO", "pybroker-web: words"),
        ("INFO", 'pybroker-web: {"time": '),
    ]
