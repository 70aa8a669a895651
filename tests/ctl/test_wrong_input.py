"""Wrong input and broken surroundings, against a real node: one clear sentence, the documented code, no traceback."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pybroker.control import commands
from pybrokerctl import exit_codes
from pybrokerctl.main import main
from tests.ctl.live_node import CTL, LiveNode, run

# Enough words to get past the parser of every command that has a virtual host, a user or a queue.
WORDS = {
    "queue_name": "q",
    "queue": "q",
    "source": "q",
    "stream": "q",
    "username": "guest",
    "user": "guest",
    "exchange": "e",
    "reason": "bye",
    "tags": "t",
    "password": "p",
    "limit_type": "all",
}
# Options that a command asks for.
MORE_WORDS = {
    "publish": ["--queue", "q"],
    "cancel_scheduled": ["--all"],
    "move_messages": ["--to", "b"],
    "trace_message": ["--queue", "q"],
    "pause_queue": ["--why", "maintenance"],
    "pause_consumer": ["--why", "maintenance"],
    "stream_truncate": ["--before", "1"],
    "list_stream_group_consumers": ["--stream", "q", "--reference", "g"],
    "activate_stream_consumer": ["--stream", "q", "--reference", "g"],
    "pipeline_tap": ["--stream", "q"],
    "reset_offset": ["--stream", "q", "--reference", "g"],
}
# The audit log tells of what is no more; an export reads from any broker.
OF_OTHERS = ("audit", "why_deleted", "pipeline_export", "pipeline_search", "pipeline_follow")
# A stand-in for standard input.
DOCUMENT = Path(__file__).parents[1] / "core/transfer/rabbitmq-3.10.8.json"
# Long enough that a listing of them fills every buffer between the daemon and a reader who does not read.
LONG_NAMES = [f"{number:04}" + "x" * 240 for number in range(6_000)]


@pytest.fixture(scope="module")
def node():
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        node = LiveNode(Path(name))
        yield node
        log = (node.folder / f"{node.name}.log").read_text()
        node.end()
        assert "Traceback" not in log


@pytest.fixture
def mortal():
    """A node that a test may stop, kill or fill."""
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        node = LiveNode(Path(name))
        yield node
        node.end()


@pytest.fixture
def here(node, monkeypatch):
    """Have the node found by whatever runs in this process."""
    monkeypatch.setenv("PYBROKER_SOCKET", str(node.socket))


def words_of(name: str, *, but: str = "") -> list[str]:
    """Return a command's name and its positional words, without the one called `but`."""
    command = commands.load(name)
    fields = command.fields()
    words = [
        WORDS.get(field.name, ".*") for field in fields if field.positional and field.required and field.name != but
    ]
    words += MORE_WORDS.get(name, [])
    return [*words, str(DOCUMENT)] if command.takes_lines else words


def having(*names: str) -> list[str]:
    """Return the commands with a required argument of one of these names."""
    return [
        command
        for command in commands.NAMES
        if any(field.name in names and field.positional and field.required for field in commands.load(command).fields())
    ]


def with_vhost() -> list[str]:
    return [
        name
        for name in commands.NAMES
        if name not in OF_OTHERS and any(field.option == "--vhost" for field in commands.load(name).fields())
    ]


def told(outcome, code: int) -> str:
    """Return the sentence on stderr behind `Error`, having looked at what every refusal has in common."""
    assert outcome.code == code, outcome
    assert outcome.code in exit_codes.MEANINGS
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("Error")
    sentence = outcome.err.removeprefix("Error (argument validation): ").removeprefix("Error:").strip()
    return sentence.partition("\nArguments given:")[0].rstrip()


def one_sentence(done: subprocess.CompletedProcess | subprocess.Popen, err: str, code: int) -> str:
    assert done.returncode == code, err
    assert done.returncode in exit_codes.MEANINGS
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) <= 2, err
    return err.removeprefix("Error:").strip()


@pytest.mark.parametrize("name", with_vhost())
def test_an_unknown_virtual_host_is_the_same_sentence_everywhere(here, ctl, name):
    outcome = ctl(name, "-p", "nosuch", *words_of(name))
    assert told(outcome, 65) == "Virtual host 'nosuch' does not exist"


@pytest.mark.parametrize("name", [name for name in having("username", "user") if name != "add_user"])
def test_an_unknown_user_is_the_same_sentence_everywhere(here, ctl, name):
    words = ["nosuch" if word == "guest" else word for word in words_of(name)]
    if name == "authenticate_user":
        # An unknown user is refused with the sentence for a wrong password: nobody may learn which users there are.
        assert told(ctl(name, *words), 65).startswith('failed to authenticate user "nosuch"')
    else:
        assert told(ctl(name, *words), 67) == 'User "nosuch" does not exist'


@pytest.mark.parametrize("name", [name for name in having("queue", "queue_name", "stream") if name not in OF_OTHERS])
def test_an_unknown_queue_is_the_same_sentence_everywhere(here, ctl, name):
    noun = "stream" if having("stream").count(name) else "queue"
    sentence = f"{noun} 'nosuch' was not found in virtual host '/'"
    assert told(ctl(name, "nosuch", *MORE_WORDS.get(name, [])), 65) == sentence


@pytest.mark.parametrize("name", commands.NAMES)
def test_an_option_that_no_command_has(here, ctl, name):
    assert told(ctl(name, "--bogus", *words_of(name)), 64) == "Invalid options for this command:\n--bogus :"


@pytest.mark.parametrize("name", [name for name in commands.NAMES if commands.load(name).columns])
def test_a_column_that_no_listing_has(here, ctl, name):
    command = commands.load(name)
    if any(field.name == "columns" for field in command.fields()):
        assert told(ctl(name, *words_of(name), "bogus"), 64) == "Info key(s) bogus are not supported"
    else:
        assert told(ctl(name, *words_of(name), "bogus"), 64) == "too many arguments."


@pytest.mark.parametrize("name", commands.NAMES)
def test_too_many_words(here, ctl, name):
    if not any(field.many for field in commands.load(name).fields()):
        assert told(ctl(name, *["1"] * 9), 64) == "too many arguments."


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("-t abc ping", 64, "--timeout must be a number of seconds above 0, or infinity"),
        ("-t 0 ping", 64, "--timeout must be a number of seconds above 0, or infinity"),
        ("-p", 64, "-p : Option '-p' requires an argument."),
        ("--formatter xml ping", 64, "the requested formatter is not supported by this command"),
        ("status --unit furlong", 64, "unit 'furlong' is not supported. Please use one of: bytes, mb, mib,"),
        ("memory_breakdown --unit furlong", 64, "unit 'furlong' is not supported. Please use one of: bytes, mb, mib,"),
        ("set_log_level loud", 64, "level 'loud' is not supported. Please use one of: debug, info, notice,"),
        ("completion klingon", 64, "shell 'klingon' is not supported. Please use one of: bash, zsh, fish"),
        ("check_port_listener amqp", 65, "Bad argument: <port> must be an integer"),
        ("log_tail --number 0", 65, "Bad argument: --number must be from 1 to 10000"),
        ("set_disk_free_limit 1XB", 65, "Bad argument: Invalid units."),
        ("set_disk_free_limit 1.5GB", 65, "Bad argument: The threshold should be an integer."),
        (
            "set_disk_free_limit -1",
            65,
            "Bad argument: The threshold should lie between 0 and 4611686018427387904 bytes",
        ),
        ("set_disk_free_limit mem_relative nan", 65, "Bad argument."),
        ("set_vm_memory_high_watermark absolute -1", 65, "Bad argument: The threshold should lie between 0 and"),
        ("set_vm_memory_high_watermark infinity", 65, "Bad argument."),
        ("close_all_connections --limit x bye", 65, "Bad argument: --limit must be an integer"),
        ("close_all_connections --limit -1 bye", 65, "Bad argument: --limit and --per-connection-delay must not be"),
        ("close_connection <0.1.2> bye", 65, "no connection has the id <0.1.2>"),
        ("set_permissions guest ( .* .*", 65, "a permission pattern is not a regular expression: missing ): ("),
        ("set_topic_permissions guest amq.topic .* (", 65, "a permission pattern is not a regular expression:"),
        ("add_vhost v --default-queue-type stack", 64, "Unsupported default queue type"),
        ("eval halt().", 65, "Erlang is not available"),
        ("add_user guest p", 70, 'User "guest" already exists'),
        ("start_app now", 64, "too many arguments."),
        ("reset", 64, "this command requires the 'rabbit' app to be stopped on the target node."),
        ("stop /no/such/file", 69, "could not read pid from file /no/such/file. Error: No such file or directory"),
        ("stop /dev/zero/x", 69, "could not read pid from file /dev/zero/x. Error: Not a directory"),
        ("stop /bin/sh", 69, "could not read pid from file /bin/sh. File contents: "),
        ("wait --pid abc", 65, "Bad argument: --pid must be an integer"),
        ("wait --pid 4194305 -t 1", 70, "process is not running."),
        ("wait /bin/sh -t 1", 70, "garbage in pid file."),
        ("-n other@test ping", 69, "the node at "),
        ("-n rabbit@far --socket /no/such ping", 69, "unable to perform an operation on node 'rabbit@far'."),
    ],
)
def test_a_value_that_cannot_be(here, ctl, words, code, sentence):
    text = told(ctl(*words.split()), code)
    assert sentence in text
    assert text.index(sentence) < 60


def test_octets_that_are_no_text(node):
    for words in (["delete_queue", b"\xff"], ["list_queues", "-p", b"\xff\xfe"], ["set_user_tags", "guest", b"a\x80"]):
        done = node.ctl(*words)
        assert (done.returncode, done.stdout) == (65, "")
        assert "is not UTF-8" in done.stderr


@pytest.mark.parametrize("close", [">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed(node, close):
    script = f'"$PYTHON" -m pybrokerctl list_users {close}'
    assert run(["sh", "-c", script], {**node.environment, "PYTHON": sys.executable}).returncode == 0
    done = run(
        ["sh", "-c", script.replace("list_users", "add_user x p q")], {**node.environment, "PYTHON": sys.executable}
    )
    assert done.returncode == 64
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["list_exchanges", "status", "report", "help"])
def test_a_disk_that_is_full(node, command):
    with Path("/dev/full").open("w") as full:
        done = node.ctl(command, stdout=full)
    assert one_sentence(done, done.stderr, 74) == "cannot write the output: No space left on device"


@pytest.mark.parametrize("command", ["list_exchanges", "status", "report", "help"])
def test_a_reader_who_has_gone(node, command):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = node.ctl(command, stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_reader_who_leaves_in_the_midst_of_rows(mortal):
    mortal.declare_queues(LONG_NAMES)
    reading = mortal.start([*CTL, "list_queues", "-s"])
    reading.stdout.readline()
    reading.stdout.close()
    assert (reading.wait(60), reading.stderr.read()) == (141, "")
    # It costs the node nothing.
    assert mortal.ctl("ping").returncode == 0


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("none.sock", "no such file or directory"),
        (".", "connection refused"),
        ("file", "connection refused"),
        ("x" * 200, "af_unix path too long"),
        ("dead.sock", "connection refused"),
    ],
)
def test_a_node_that_is_down(ctl, folder, path, why):
    (folder / "file").touch()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "dead.sock"))
    outcome = ctl("--socket", str(folder / path), "ping")
    text = told(outcome, 69)
    assert text.startswith("unable to perform an operation on node 'pybroker@vm'.")
    assert f"control socket {folder / path}: {why}\n" in text


def test_a_socket_one_may_not_use(node, ctl):
    words = ["list_queues", "--socket", str(node.socket)]
    if os.geteuid():
        node.socket.chmod(0)
        outcome = ctl(*words)
        node.socket.chmod(0o600)
    else:
        # Root may do everything; python's files may be root's alone, so all of them are loaded before.
        ctl("list_queues", "--socket", "/none")
        outcome = as_nobody(words)
    text = told(outcome, 69)
    assert f"control socket {node.socket}: permission denied" in text
    assert "suggestion: try again as the node's user: sudo -u " in text


def as_nobody(words: list[str]) -> SimpleNamespace:
    """Run pybrokerctl in a child of this process that has given up its rights."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        with os.fdopen(write_end, "w") as said:
            sys.stdout = sys.stderr = said
            code = main(words)
        os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end) as said:
        err = said.read()
    return SimpleNamespace(code=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), err=err)


@pytest.fixture
def asleep(node):
    """The node does nothing at all meanwhile."""
    node.process.send_signal(signal.SIGSTOP)
    yield node
    node.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [
        ("list_queues", 75, "operation list_queues on node {} timed out. Timeout value used: 200"),
        ("add_vhost x", 75, "operation add_vhost on node {} timed out. Timeout value used: 200"),
        ("stop", 75, "operation stop on node {} timed out. Timeout value used: 200"),
        ("await_startup", 75, "operation await_startup on node {} timed out. Timeout value used: 200"),
        ("ping", 70, "timed out while waiting for a response from {}."),
        ("status", 70, "timed out while waiting for a response from {}."),
    ],
)
def test_a_node_that_does_not_answer_in_time(asleep, here, ctl, name, code, sentence):
    outcome = ctl(*name.split(), "-t", "0.2")
    assert told(outcome, code).removeprefix("Error: ") == sentence.format("pybroker@test")


def test_ctrl_c_while_a_node_does_not_answer(asleep):
    waiting = asleep.start([*CTL, "list_queues"])
    wait_until_connected(waiting)
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out, err) == (130, "", "")


def test_ctrl_c_in_the_midst_of_rows(mortal):
    mortal.declare_queues(LONG_NAMES)
    reading = mortal.start([*CTL, "list_queues", "-s"])
    reading.stdout.readline()
    reading.send_signal(signal.SIGINT)
    _, err = reading.communicate(timeout=60)
    assert (reading.returncode, err) == (130, "")


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_that_ends_in_the_midst_of_its_answer(mortal, stop):
    mortal.declare_queues(LONG_NAMES)
    reading = mortal.start([*CTL, "list_queues", "-s"])
    first = reading.stdout.readline()
    mortal.process.send_signal(stop)
    mortal.process.wait(60)
    rows = [first, *reading.stdout]
    reading.wait(60)
    text = "node pybroker@test disconnected before its answer was complete"
    assert one_sentence(reading, reading.stderr.read(), 69) == text
    assert rows == [f"{name}\t0\n" for name in LONG_NAMES[: len(rows)]]
    assert len(rows) < len(LONG_NAMES)


def test_something_else_that_answers_on_the_socket(ctl, folder, daemon):
    for greeting in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff\xfe\n", b"[]\n", b'{"node": 1}\n', b"\n"):
        daemon.greeting = greeting
        sentence = told(ctl("--socket", str(daemon.path), "ping"), 69)
        assert "does not speak pybroker's control protocol" in sentence


def wait_until_connected(process: subprocess.Popen) -> None:
    """Wait until a process has a socket, ten seconds at most."""
    deadline = time.monotonic() + 60
    while not any("socket:" in link for link in links_of(process)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def links_of(process: subprocess.Popen) -> list[str]:
    links = []
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            links.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return links
