"""Shell scripts: every command in every formatter under `set -e`, and what client suites set a broker up with."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pika
import pytest
from pamqp import commands as methods

from pybroker.control import commands
from pybrokerctl import render
from tests.ctl.live_node import LiveNode, frame, run
from tests.ctl.script_lines import SCRIPT_LINES

ROOT = Path(__file__).resolve().parents[2]
# Four scripts of eighty calls on a machine that does other things as well.
pytestmark = pytest.mark.timeout(300)
FORMATTERS = ("table", "pretty_table", "json", "csv")
# A definitions file: an exchange from which something can be cancelled.
LATER = {
    "exchanges": [
        {
            "name": "later",
            "vhost": "/",
            "type": "x-delayed-message",
            "durable": True,
            "auto_delete": False,
            "internal": False,
            "arguments": {"x-delayed-type": "direct"},
        }
    ]
}
# They start Spark, or show what it has made: tests/spark and tests/ctl/test_reports.py have them.
OF_SPARK = ("pipeline_", "report_")
# They go on until somebody ends them, end the node as `stop` does, or fail because there is a transient queue, or no
# client of the stream protocol.
WITHOUT_A_LINE = {
    "activate_stream_consumer",
    "list_stream_group_consumers",
    "reset_offset",
    "check_if_any_deprecated_features_are_used",
    "consume_event_stream",
    "log_tail_stream",
    "shutdown",
}
# bunny, hop, bunny_rs and rabbitmqadmin-ng begin so. / and guest exist already; there are no streams and no Erlang.
SET_UP = """
    $CTL add_vhost /
    $CTL add_user guest guest || true
    $CTL set_user_tags guest "administrator"
    $CTL set_permissions -p / guest ".*" ".*" ".*"
    $CTL set_topic_permissions -p / guest amq.topic ".*" ".*"
    $CTL add_vhost testbed
    $CTL add_vhost dqt_classic --default-queue-type "classic"
    $CTL add_vhost dqt_quorum --default-queue-type "quorum"
    $CTL add_vhost dqt_stream --default-queue-type "stream" || true
    $CTL add_user gem password
    $CTL add_user reader reader_password
    $CTL set_permissions -p testbed gem ".*" ".*" ".*"
    $CTL set_permissions -p dqt_quorum gem ".*" ".*" ".*"
    $CTL clear_permissions -p testbed reader
    $CTL set_permissions -p testbed reader "^---$" "^---$" ".*"
    $CTL eval 'supervisor2:terminate_child(rabbit_mgmt_sup_sup, rabbit_mgmt_sup).' || true
    $CTL -q list_permissions -p testbed
"""
# The Java, .NET and Go clients' suites find their own connection and have it closed.
FIND_AND_CLOSE = """
    line=$($CTL list_connections -q pid peer_port client_properties | grep '"connection_name","find me"')
    pid=$(printf '%s' "$line" | cut -f1)
    port=$(printf '%s' "$line" | cut -f2)
    $CTL close_connection "$pid" 'Closed via rabbitmqctl'
    echo "closed $port"
"""
# An operator's clean-up: connections of channels with unacknowledged messages, found by awk.
CLEAN_UP = """
    stuck=$($CTL list_channels -s pid connection consumer_count messages_unacknowledged | awk '($4 > 0) {print $2}')
    for conn in $stuck
    do
        $CTL close_connection "$conn" "bad ack"
    done
"""


class Script(NamedTuple):
    """A process at work on all SCRIPT_LINES, and where each line's answer is."""

    process: subprocess.Popen
    folder: Path


def command_of(line: str) -> str:
    return shlex.split(line)[0]


def lines() -> list[str]:
    return [line.strip() for line in SCRIPT_LINES.strip().splitlines()]


def script(formatter: str, folder: Path) -> str:
    """Return a script that writes each line's answer into a file of its own.

    -S because an editable install's start takes a quarter of the time, hundreds of times.
    """
    calls = [f"ctl {line} > {shlex.quote(str(folder / command_of(line)))}" for line in lines()]
    return "\n".join(["set -e", f'ctl() {{ "$PYTHON" -S -m pybrokerctl --formatter {formatter} "$@"; }}', *calls])


@contextmanager
def prepared(folder: Path) -> Iterator[tuple[LiveNode, dict[str, str]]]:
    """Give a node with all that the lines want to find, and what they call it."""
    folder.mkdir(exist_ok=True)
    node = LiveNode(folder)
    try:
        node.declare_queues(["a, b"])
        node.declare_streams(["events"])
        (folder / "later.json").write_text(json.dumps(LATER))
        with node.peer(), node.peer() as reader:
            # basic.consume of queue `a, b` as consumer `c`.
            reader.socket.sendall(frame(1, 1, b"\0\x3c\0\x14\0\0\4a, b\1c\0\0\0\0\0"))
            facts = {"PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
            facts["PID"] = node.ctl("list_connections", "-s", "pid").stdout.splitlines()[0]
            yield node, facts | {"PORT": str(node.port), "NODE_PID": str(node.process.pid), "FOLDER": str(folder)}
    finally:
        node.end()


@pytest.fixture(scope="module")
def scripts():
    """All formatters at once, each on a node of its own, spared a start of Python for each line."""
    started = {}
    with tempfile.TemporaryDirectory(prefix="ctl") as name, ExitStack() as stack:
        for formatter in FORMATTERS:
            folder = Path(name) / formatter
            node, facts = stack.enter_context(prepared(folder))
            words = [sys.executable, str(Path(__file__).with_name("forking.py")), formatter, str(folder)]
            (folder / "lines").write_text(SCRIPT_LINES.lstrip())
            with (folder / "lines").open() as given:
                process = node.start(words, facts, stdin=given)
            started[formatter] = Script(process, folder)
        yield started


def test_every_command_has_its_line():
    names = {name for name in commands.NAMES if not name.startswith(OF_SPARK) or not commands.load(name).offline}
    assert {command_of(line) for line in lines()} == names - WITHOUT_A_LINE
    assert set(FORMATTERS) == set(render.NAMES)


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_every_command_succeeds(scripts, formatter):
    process, folder = scripts[formatter]
    said, complaint = process.communicate(timeout=280)
    done = [line for line in lines() if (folder / command_of(line)).exists()]
    assert (process.returncode, complaint) == (0, ""), f"ended at: {done[-1]}"
    assert said == ""


@pytest.mark.slow
@pytest.mark.parametrize("formatter", FORMATTERS)
def test_every_command_succeeds_in_a_shell(formatter):
    with tempfile.TemporaryDirectory(prefix="ctl") as name, prepared(Path(name)) as (node, facts):
        done = run(["sh", "-c", script(formatter, Path(name))], {**node.environment, **facts}, timeout=280)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def answers(scripts, formatter):
    process, folder = scripts[formatter]
    process.wait(280)
    return {command_of(line): (folder / command_of(line)).read_text() for line in lines()}


def test_all_json_parses(scripts):
    told = {name: json.loads(text) for name, text in answers(scripts, "json").items()}
    assert told["list_users"] == [
        {"user": "guest", "tags": ["administrator"]},
        {"user": "u", "tags": ["administrator", "monitoring"]},
    ]
    assert told["list_queues"][0]["name"] == "a, b"
    assert told["stop_app"] == {"result": "ok", "node": "pybroker@test"}
    assert told["status"]["node_name"] == "pybroker@test"


def test_all_csv_parses_and_has_as_many_fields_in_each_row(scripts):
    for name, text in answers(scripts, "csv").items():
        if not commands.load(name).composed:
            rows = list(csv.reader(text.splitlines(), strict=True))
            assert len({len(row) for row in rows}) <= 1, name


def test_all_tables_have_as_many_columns_in_each_row(scripts):
    for name, text in answers(scripts, "table").items():
        if commands.load(name).columns:
            rows = [line.split("\t") for line in text.splitlines() if "\t" in line]
            assert len({len(row) for row in rows}) <= 1, name


def test_all_boxes_are_as_wide_in_each_line(scripts):
    for name, text in answers(scripts, "pretty_table").items():
        if commands.load(name).columns:
            boxes = [line for line in text.splitlines() if line[0] in "┌├└│"]
            assert len({len(line) for line in boxes}) <= 1, name


@pytest.fixture(scope="module")
def node():
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        node = LiveNode(Path(name))
        yield node
        node.end()


def sh(node, text):
    """Run a script that knows rabbitmqctl as $CTL."""
    facts = {**node.environment, "CTL": f"{sys.executable} -m pybrokerctl"}
    return run(["sh", "-c", f"set -e\n{text}"], facts)


def test_a_client_suites_set_up_runs_unchanged(node):
    done = sh(node, SET_UP)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("user\tconfigure\twrite\tread\ngem\t.*\t.*\t.*\nreader\t^---$\t^---$\t.*\n")
    assert 'User "guest" already exists' in done.stderr


def test_a_client_suite_finds_its_connection_and_closes_it(node):
    parameters = pika.ConnectionParameters("127.0.0.1", node.port, client_properties={"connection_name": "find me"})
    with node.peer() as other:
        client = pika.BlockingConnection(parameters)
        done = sh(node, FIND_AND_CLOSE)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.search(r"\nclosed \d+\n$", done.stdout)
        with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as closed:
            client.process_data_events(5)
        assert (320, "CONNECTION_FORCED - Closed via rabbitmqctl") == closed.value.args
        other.call(methods.Channel.Close(200, "", 0, 0), methods.Channel.CloseOk)


def test_an_operator_cleans_up_with_awk(node):
    with node.peer() as idle, node.peer() as peer:
        peer.call(methods.Queue.Declare(queue="stuck"), methods.Queue.DeclareOk)
        peer.publish("", "stuck", b"x")
        peer.send(methods.Basic.Get(queue="stuck"))
        peer.read_delivery()
        done = sh(node, CLEAN_UP)
        assert (done.returncode, done.stderr) == (0, "")
        assert peer.expect(methods.Connection.Close).reply_text == "CONNECTION_FORCED - bad ack"
        idle.call(methods.Channel.Close(200, "", 0, 0), methods.Channel.CloseOk)
