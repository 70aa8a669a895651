"""Make a golden data folder: what this version writes, to be opened by every later one (tests/daemon/test_golden.py).

    python -m tests.golden.make 1        makes tests/golden/1/{clean,killed}, and .json files that say what is in them

Made once for each version of what lies on disk, and never again: what is in it is what somebody's disk has.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pika

from tests.daemon.running import Running
from tests.interop.stream.client import Client
from tests.interop.stream.peer import Code

HERE = Path(__file__).resolve().parent
OPTIONS = ("--port", "0", "--bind", "127.0.0.1", "--node", "golden@here")
# A start makes these anew if they are missing.
NOT_KEPT = {"log", "pages", "telemetry", ".lock", "prepared", "reserve", "definitions.sqlite-shm"}
TEN_YEARS_MS = 315_324_000_000
PERSISTENT = pika.BasicProperties(delivery_mode=2)


def declare(channel):
    """Declare one of each that is durable."""
    channel.exchange_declare("topics", "topic", durable=True)
    channel.exchange_declare("letters", "fanout", durable=True)
    channel.exchange_declare("heads", "headers", durable=True, arguments={"alternate-exchange": "letters"})
    channel.queue_declare("plain", durable=True)
    channel.queue_declare("ranked", durable=True, arguments={"x-max-priority": 3})
    channel.queue_declare("dead", durable=True)
    channel.queue_declare(
        "limited",
        durable=True,
        arguments={"x-max-length": 1000, "x-dead-letter-exchange": "letters", "x-message-ttl": TEN_YEARS_MS},
    )
    channel.queue_declare("passing")
    channel.queue_bind("plain", "topics", "#")
    channel.queue_bind("limited", "topics", "orders.*")
    channel.queue_bind("dead", "letters", "")


def publish(channel):
    """Publish messages of many shapes, and settle some of them."""
    for number in range(50):
        channel.basic_publish("topics", f"orders.{number % 3}", b"order %d" % number, PERSISTENT)
    for number in range(10):
        ranked = pika.BasicProperties(delivery_mode=2, priority=number % 5)
        channel.basic_publish("", "ranked", b"rank %d" % number, ranked)
    full = pika.BasicProperties(
        content_type="text/plain",
        headers={"text": "ü", "number": 5, "table": {"deep": [1, 2]}},
        delivery_mode=2,
        correlation_id="c",
        expiration=str(TEN_YEARS_MS),
        message_id="m",
        timestamp=1_700_000_000,
        type="t",
        user_id="guest",
        app_id="a",
    )
    channel.basic_publish("", "plain", b"", full)
    channel.basic_publish("", "plain", b"large " * 24_000, PERSISTENT)
    channel.basic_publish("", "plain", b"transient")
    channel.basic_publish("", "passing", b"persistent, in a queue that is not", PERSISTENT)
    for _ in range(7):
        channel.basic_ack(channel.basic_get("plain")[0].delivery_tag)
    for number in range(5):
        tag = channel.basic_get("limited")[0].delivery_tag
        channel.basic_reject(tag, requeue=False)
        assert number < 5
    # Delivered and given back: redelivered, after a clean stop exactly these.
    tags = [channel.basic_get("plain")[0].delivery_tag for _ in range(3)]
    for tag in tags:
        channel.basic_nack(tag, requeue=True)


def contents(channel):
    """Return all that is in the queues, as JSON has it; large bodies by their length."""
    found = {}
    for queue in ("plain", "ranked", "dead", "limited"):
        found[queue] = []
        while True:
            method, properties, body = channel.basic_get(queue)
            if method is None:
                break
            found[queue].append(
                {
                    "exchange": method.exchange,
                    "routing_key": method.routing_key,
                    "redelivered": method.redelivered,
                    "properties": plain(properties.__dict__),
                    "body": body.decode() if len(body) < 1_000 else f"{len(body)} octets",
                }
            )
    return found


def plain(value):
    """Return a property as JSON has it, without the count of deliveries, which was not told from the beginning."""
    if isinstance(value, dict):
        found = {key: plain(each) for key, each in value.items() if each is not None and key != "x-delivery-count"}
        return {key: each for key, each in found.items() if each not in ("", {})}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value if isinstance(value, int | str | bool) else str(value)


def connect(running):
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", running.port))
    return connection, connection.channel()


def definitions(running):
    """Return what is declared."""
    commands = (
        ("list_vhosts",),
        ("list_users",),
        ("list_user_permissions", "reader"),
        ("list_exchanges",),
        ("list_queues", "name", "durable", "arguments"),
        ("list_bindings",),
    )
    return {words[0]: sorted(running.ctl("--quiet", *words).splitlines()) for words in commands}


def fill_stream(running, channel):
    """Publish to a stream by both protocols; what comes at once at the end goes straight into its files."""
    with Client(("127.0.0.1", int(running.places["stream listener"][0].rpartition(":")[2]))).open() as client:
        assert client.create("kept") == Code.OK
        for number in range(10):
            channel.basic_publish("", "kept", b"content %d" % number, PERSISTENT)
        assert client.declare(1, "kept", "publisher") == Code.OK
        client.number(1, range(20))
        large = {number: b"large %d " % number + b"x" * 1_000 for number in range(20, 220)}
        client.publish(1, large)
        assert client.confirmed(1, len(large)) == list(large)
        client.store_offset("reader", "kept", 7)


def streams(running):
    """Return messages of streams, and what they track; nothing where there are none, as before there were streams."""
    names = running.ctl("-s", "list_streams", "name").split()
    told = {}
    for name in names:
        rows = json.loads(running.ctl("-q", "stream_read", name, "-c", "1000", "--format", "json"))
        tracked = running.ctl("-s", "list_stream_tracking", name).splitlines()
        told[name] = {"messages": [[row["offset"], row["body"][:20]] for row in rows], "tracked": sorted(tracked)}
    return {"streams": told} if told else {}


def look(running):
    """Return all there is in a node, and take the messages out of it."""
    connection, channel = connect(running)
    found = {"queues": contents(channel), **definitions(running), **streams(running)}
    connection.close()
    return found


def keep(data, name):
    """Copy a data folder, without what a start makes anew."""
    shutil.rmtree(name, ignore_errors=True)
    shutil.copytree(data, name, ignore=lambda _, names: [each for each in names if each in NOT_KEPT or ".pid" in each])


def live(folder, end):
    """Run a node on a new folder, have it keep something, and end it in order or by signal 9."""
    config = folder / "pybroker.conf"
    config.write_text("stream.listeners.tcp.1 = 127.0.0.1:0\n")
    running = Running(folder, *OPTIONS, config=config)
    running.ctl("add_vhost", "other")
    running.ctl("add_user", "reader", "secret")
    running.ctl("set_permissions", "-p", "other", "reader", "^$", "^$", ".*")
    _, channel = connect(running)
    channel.confirm_delivery()
    declare(channel)
    publish(channel)
    fill_stream(running, channel)
    time.sleep(0.5)  # what nobody waits for is on disk then
    if end == "clean":
        running.stop()
    else:
        running.process.kill()
        running.ended()


def main(version, out=HERE):
    for end in ("clean", "killed"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            live(folder, end)
            keep(folder / "data", out / version / end)
            running = Running(folder, *OPTIONS)
            text = json.dumps(look(running), indent=1, sort_keys=True, ensure_ascii=False)
            running.stop()
            (out / version / f"{end}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else HERE)
