"""The command pybroker-web without a node; tests/daemon/test_web.py has it with one."""

import os
import subprocess
import sys

import gevent.event

from pybroker.http import main

COMMAND = [sys.executable, "-m", "pybroker.http.main"]


def test_it_waits_for_the_node_until_its_input_ends(folder):
    process = subprocess.Popen(
        [*COMMAND, "--socket", str(folder / "none.web"), "--until-eof"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        process.wait(1)
        raise AssertionError("it did not wait")
    except subprocess.TimeoutExpired:
        pass
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def test_it_runs_where_no_priority_may_be_changed(folder):
    code = (
        "import os\ndef refuse(_): raise PermissionError\nos.nice = refuse\nfrom pybroker.http.main import main\nmain()"
    )
    command = [sys.executable, "-c", code, "--socket", str(folder / "none.web"), "--until-eof"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_served_that_is_not_enabled(monkeypatch, capfd):
    class Node:
        def ask(self, _command):
            return {"prometheus": None, "management": None, "access_log": ""}

    monkeypatch.setattr(main, "_listen", None)
    main._serve(Node(), told_to_node=True)
    assert "there is nothing to serve" in capfd.readouterr().err


def test_nothing_but_https_waits_for_a_certificate(monkeypatch):
    class Node:
        def ask(self, _command):
            place = {"host": "127.0.0.1", "port": 0}
            limits = {"body_octets_max": 1, "session_minutes": 1, "origins": [], "origins_age_s": 1}
            tls = {"tls_host": "127.0.0.1", "tls_port": 0, "tls": {}, "transport_policy": ""}
            prometheus = {**place, "series_max": 1}
            return {"prometheus": prometheus, "management": {**place, **limits, **tls}, "access_log": ""}

    never = gevent.event.Event()
    listening = []
    monkeypatch.setattr(main, "_certificates", lambda _options: never.wait())
    monkeypatch.setattr(main, "_listen", lambda _server, purpose: listening.append(purpose))
    life = gevent.spawn(main._serve, Node(), told_to_node=True)
    gevent.sleep(0)
    gevent.sleep(0)
    life.kill()
    assert listening == ["metrics", main.INTERFACE]


def test_its_help_names_its_options():
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True, timeout=60)
    assert {"--socket", "--node", "--until-eof"} <= set(done.stdout.split())


def test_a_misspelt_option_is_one_line(capsys):
    assert main.execute(["--sockt", "x"]) == os.EX_USAGE
    line = "pybroker-web: No such option '--sockt'. Did you mean '--socket'? (pybroker-web --help)\n"
    assert capsys.readouterr() == ("", line)
