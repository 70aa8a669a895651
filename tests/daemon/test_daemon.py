"""The daemon as a process: what an operator, a supervisor and a client see of its start, its stop and its refusals."""

import os
import signal
import socket
import stat
import threading

import pika
import psutil
import pytest

from pybroker.daemon import boot
from tests.daemon.running import WAIT_S, Running

PROTOCOL_HEADER = b"AMQP\0\0\x09\x01"


@pytest.fixture
def start(tmp_path):
    started = []

    def start(*options, folder="one", **given):
        (tmp_path / folder).mkdir(exist_ok=True)
        running = Running(tmp_path / folder, *options, **given)
        started.append(running)
        return running

    yield start
    for running in started:
        code, stderr = running.stop()
        assert code in (0, 64, 66, 69, 73, 77, 78, 128 + signal.SIGTERM, 128 + signal.SIGINT), stderr
        assert "Traceback" not in running.log + stderr


def connected(port):
    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, heartbeat=0))


def greeting(family, address):
    with socket.socket(family) as peer:
        peer.settimeout(WAIT_S)
        peer.connect(address)
        peer.sendall(PROTOCOL_HEADER)
        return peer.recv(3)


def first_method(family, address):
    """Return whether connection.start came back: a method frame on channel 0."""
    return greeting(family, address) == b"\1\0\0"


def test_the_first_screen_says_where_everything_is(start):
    daemon = start(program=True)
    places = daemon.places
    assert places["node"] == ["test@here"]
    assert places["AMQP listener"] == [f"127.0.0.1:{daemon.port}"]
    assert places["control socket"] == [str(daemon.socket)]
    assert places["data folder"] == [str(daemon.folder / "data")]
    assert places["log"] == [str(daemon.folder / "data" / "log" / "test@here.log")]
    assert places["config file"] == [os.devnull]
    assert places["pid"] == [str(daemon.pid)]
    assert places["codec"] == [boot.describe_codec()]
    assert places["next"][0].startswith(f"pybrokerctl --socket {daemon.socket} status")


def test_a_client_is_served(start):
    connection = connected(start().port)
    channel = connection.channel()
    channel.queue_declare("q")
    channel.basic_publish("", "q", b"hello")
    assert channel.basic_get("q", auto_ack=True)[2] == b"hello"
    connection.close()


def test_all_interfaces_are_both_families_on_one_port(start):
    daemon = start("--port", "0")
    assert len({each.rpartition(":")[2] for each in daemon.places["AMQP listener"]}) == 1
    assert first_method(socket.AF_INET, ("127.0.0.1", daemon.port))
    if socket.has_ipv6 and len(daemon.places["AMQP listener"]) == 2:
        assert first_method(socket.AF_INET6, ("::1", daemon.port))


def test_localhost_is_this_machine_in_both_families(start):
    daemon = start("--port", "0", "--bind", "localhost")
    assert {each.rpartition(":")[0] for each in daemon.places["AMQP listener"]} <= {"[::1]", "127.0.0.1"}
    assert first_method(socket.AF_INET, ("127.0.0.1", daemon.port))


def test_amqp_is_spoken_on_a_unix_socket(start, tmp_path):
    path = tmp_path / "amqp.sock"
    daemon = start("--port", "0", "--unix", str(path))
    assert daemon.places["AMQP listener"][-1] == str(path)
    assert first_method(socket.AF_UNIX, str(path))
    daemon.stop()
    assert not path.exists()


def test_sigterm_closes_clients_with_320_and_leaves_nothing_behind(start):
    daemon = start(program=True)
    connection = connected(daemon.port)
    daemon.signal(signal.SIGTERM)
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as caught:
        connection.process_data_events(WAIT_S)
    assert caught.value.reply_code == 320
    text = "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'"
    assert caught.value.reply_text == text
    assert daemon.ended() == (0, "")
    kept = {"definitions.json", "definitions.last", "definitions.sqlite", "groups", "log.newest", "pages", "telemetry"}
    assert {entry.name for entry in (daemon.folder / "data").iterdir()} == {".lock", "node_id", "log"} | kept
    assert not daemon.socket.exists()
    assert daemon.log.count("Server startup complete; 0 plugins started.") == 1
    assert daemon.log.endswith("Successfully stopped pybroker\n")


def test_sigint_stops_too(start):
    daemon = start(program=True)
    daemon.signal(signal.SIGINT)
    assert daemon.ended() == (0, "")


def test_a_second_signal_stops_at_once(start):
    daemon = start()
    # A client that never answers connection.close would be waited for.
    with socket.create_connection(("127.0.0.1", daemon.port), WAIT_S) as silent:
        silent.sendall(PROTOCOL_HEADER)
        assert silent.recv(3) == b"\1\0\0"
        daemon.signal(signal.SIGTERM)
        silent.settimeout(WAIT_S)
        while b"shutdown" not in silent.recv(65_536):
            pass
        daemon.signal(signal.SIGTERM)
        assert daemon.ended() == (128 + signal.SIGTERM, "")
    assert not daemon.socket.exists()
    assert not list((daemon.folder / "data").glob("*.pid"))


def test_sighup_reopens_the_log(start):
    daemon = start()
    path = daemon.folder / "data" / "log" / "test@here.log"
    path.rename(path.with_suffix(".log.1"))
    daemon.signal(signal.SIGHUP)
    waited = threading.Event()
    for _ in range(int(WAIT_S / 0.02)):
        if path.exists() and path.read_text():
            break
        waited.wait(0.02)
    assert "log file reopened\n" in path.read_text()


def test_a_second_daemon_on_the_same_data_is_refused(start):
    first = start()
    second = start()
    line = f"the data folder {first.folder}/data is in use by another pybroker, process {first.pid}"
    assert second.ended() == (69, f"pybroker: {line}\n")
    assert first_method(socket.AF_INET, ("127.0.0.1", first.port))


def test_a_killed_daemon_is_followed_by_the_next(start):
    first = start()
    first.signal(signal.SIGKILL)
    first.process.communicate(timeout=WAIT_S)
    first.process.returncode = 0
    assert first.socket.exists()
    second = start()
    assert second.places["node"] == ["test@here"]


def test_another_nodes_data_is_refused(start):
    start().stop()
    code, line = start("--port", "0", "--node", "other@here").ended()
    assert code == 78
    assert "belongs to the node test@here" in line
    assert line.count("\n") == 1


def test_without_a_name_the_data_folder_gives_it(start):
    start().stop()
    assert start("--port", "0").places["node"] == ["test@here"]


def test_a_port_that_is_taken_is_one_line_and_69(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        daemon = start("--port", port, "--bind", "127.0.0.1")
        by = f"{psutil.Process().name()}, process {os.getpid()}; stop that, or choose another port"
        line = f"cannot listen on 127.0.0.1:{port}: Address already in use by {by}"
        assert daemon.ended() == (69, f"pybroker: {line}\n")
        assert f"cannot start: {line}" in daemon.log
    # The lock and the control socket went with it.
    assert not daemon.socket.exists()
    assert start("--port", "0").places["node"]


def test_an_address_of_another_machine_is_one_line_and_69(start):
    code, line = start("--port", "0", "--bind", "192.0.2.1").ended()
    assert (code, line) == (69, "pybroker: cannot listen on 192.0.2.1:0: Cannot assign requested address\n")


def test_a_control_socket_that_cannot_be_made_is_one_line(start, tmp_path):
    path = tmp_path / "none" / "ctl.sock"
    line = f"cannot listen on the control socket {path}, its folder must exist: No such file or directory"
    assert start("--port", "0", control_socket=path).ended() == (73, f"pybroker: {line}\n")


def test_a_control_socket_in_use_is_one_line(start):
    first = start()
    code, line = start("--port", "0", folder="two", control_socket=first.socket).ended()
    assert code == 69
    assert line.endswith(f"another daemon is listening on {first.socket}\n")
    assert first.socket.exists()


def test_the_app_stops_and_starts_again_on_the_same_port(start):
    daemon = start()
    connection = connected(daemon.port)
    stopping = threading.Thread(target=daemon.ctl, args=("stop_app",))
    stopping.start()
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker):
        connection.process_data_events(WAIT_S)
    stopping.join(WAIT_S)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", daemon.port), WAIT_S).close()
    daemon.ctl("start_app")
    assert first_method(socket.AF_INET, ("127.0.0.1", daemon.port))


def test_what_is_transient_ends_with_the_app(start):
    daemon = start()
    connection = connected(daemon.port)
    channel = connection.channel()
    channel.queue_declare("transient")
    channel.queue_declare("durable", durable=True)
    channel.exchange_declare("transient", "fanout")
    channel.exchange_declare("durable", "fanout", durable=True)
    channel.queue_bind("durable", "transient")
    channel.queue_bind("transient", "durable")
    connection.close()
    daemon.ctl("stop_app")
    daemon.ctl("start_app")
    assert daemon.ctl("-q", "list_queues", "name").split() == ["name", "durable"]
    found = daemon.ctl("-q", "list_exchanges", "name").split()
    assert ("durable" in found, "transient" in found) == (True, False)
    bindings = daemon.ctl("-q", "list_bindings", "source_name", "destination_name").splitlines()
    assert bindings == ["source_name\tdestination_name", "\tdurable"]


def test_an_app_that_cannot_start_again_says_why_and_goes_on_waiting(start):
    daemon = start()
    daemon.ctl("stop_app")
    with socket.create_server(("127.0.0.1", daemon.port)):
        assert "Address already in use" in daemon.ctl("start_app", expected=69)
    daemon.ctl("start_app")
    assert first_method(socket.AF_INET, ("127.0.0.1", daemon.port))


def test_reset_forgets_everything(start):
    daemon = start()
    connection = connected(daemon.port)
    connection.channel().queue_declare("q")
    connection.close()
    daemon.ctl("stop_app")
    daemon.ctl("reset")
    daemon.ctl("start_app")
    connection = connected(daemon.port)
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
        connection.channel().queue_declare("q", passive=True)
    assert caught.value.reply_code == 404
    connection.close()


def test_pybrokerctl_stop_stops_it(start):
    daemon = start()
    daemon.ctl("stop")
    assert daemon.ended() == (0, "")


def test_a_key_that_is_wrong_is_one_line_and_78(start, tmp_path):
    conf = tmp_path / "bad.conf"
    conf.write_text("\nlistner.tcp.default = 1\n")
    daemon = start("--config", str(conf))
    line = f"{conf}:2: unknown key listner.tcp.default; did you mean listeners.tcp.default?"
    assert daemon.ended() == (78, f"pybroker: {line}\n")
    assert not (daemon.folder / "data").exists()


def test_the_data_folder_is_private_and_the_control_socket_too(start):
    daemon = start()
    assert stat.S_IMODE((daemon.folder / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o600
    assert (daemon.folder / "data" / "test@here.pid").read_text() == f"{daemon.pid}\n"


def test_systemd_is_told(start, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(WAIT_S)
        daemon = start(environ={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"})
        assert manager.recv(200) == f"READY=1\nMAINPID={daemon.pid}\nSTATUS=serving as test@here".encode()
        assert manager.recv(200) == b"WATCHDOG=1"
        daemon.signal(signal.SIGTERM)
        said = set()
        while b"STOPPING=1" not in said:
            said.add(manager.recv(200))
        assert said <= {b"WATCHDOG=1", b"STOPPING=1"}


def test_a_log_on_standard_output_has_no_file(start):
    daemon = start("--port", "0", "--log", "-")
    assert daemon.places["log"] == ["<stdout>"]
    assert not (daemon.folder / "data" / "log").exists()


def test_a_hostile_user_name_cannot_break_the_log(start):
    daemon = start()
    parameters = pika.ConnectionParameters(
        "127.0.0.1", daemon.port, credentials=pika.PlainCredentials("eve\n2026 [info] forged\x1b[31m", "x")
    )
    with pytest.raises(pika.exceptions.ProbableAuthenticationError):
        pika.BlockingConnection(parameters)
    daemon.stop()
    assert "eve\\n2026 [info] forged\\x1b[31m" in daemon.log
    assert "\x1b" not in daemon.log
