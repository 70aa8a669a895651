"""One message, three languages: from Python's pika through C's amqp-tools and the Go client back to Python."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pika
import pytest

GO_SOURCE = Path(__file__).parent / "go" / "relay.go"
GO_PACKAGE = Path("/usr/share/gocode/src/github.com/rabbitmq/amqp091-go")
BODIES = {
    "nothing": b"",
    "text": "Grüße, 世界 \N{SNOWMAN}\n".encode(),
    "every octet": bytes(range(256)),
    "one frame": os.urandom(131_064),
    "two frames": os.urandom(131_065),
    "1 MiB": os.urandom(1 << 20),
    "16 MiB": os.urandom(16 << 20),
}
QUEUES = ("lang-python", "lang-c", "lang-go")


@pytest.fixture(scope="module")
def channel(broker):
    connection = broker.pika()
    channel = connection.channel()
    # Another connection takes the message: it must be in its queue, not on its way.
    channel.confirm_delivery()
    for queue in QUEUES:
        channel.queue_declare(queue)
    yield channel
    for queue in QUEUES:
        channel.queue_delete(queue)
    connection.close()


@pytest.fixture(autouse=True)
def empty(channel):
    """Leave nothing of one test to the next."""
    for queue in QUEUES:
        channel.queue_purge(queue)


@pytest.fixture
def amqp_tools(broker):
    """Return a function that runs one of librabbitmq's tools and returns its output."""
    if not shutil.which("amqp-get"):
        pytest.skip("no amqp-get: apt-get install amqp-tools")

    def run(tool, *arguments, octets=b""):
        command = [tool, "--server", broker.host, "--port", str(broker.port), *arguments]
        return subprocess.run(command, input=octets, stdout=subprocess.PIPE, timeout=60, check=True).stdout

    return run


@pytest.fixture(scope="module")
def go_relay(broker, tmp_path_factory):
    """Return a function that relays messages from queue to queue by the Go client and returns the bodies' digests."""
    if not shutil.which("go"):
        pytest.skip("no go: apt-get install golang-go")
    if not GO_PACKAGE.exists():
        pytest.skip("no Go client: apt-get install golang-github-rabbitmq-amqp091-go-dev")
    program = tmp_path_factory.mktemp("go") / "relay"
    environment = os.environ | {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOPROXY": "off", "GOFLAGS": ""}
    subprocess.run(["go", "build", "-o", program, GO_SOURCE], env=environment, timeout=110, check=True)

    def run(source, target, count):
        url = f"amqp://guest:guest@{broker.host}:{broker.port}/"
        command = [program, url, source, target, str(count)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split()

    return run


def digest(body):
    return hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize("kind", BODIES)
def test_python_to_c_to_go_to_python(channel, amqp_tools, go_relay, kind):
    body = BODIES[kind]
    channel.basic_publish("", "lang-python", body, pika.BasicProperties(content_type="x/y"))
    got_by_c = amqp_tools("amqp-get", "--queue", "lang-python")
    amqp_tools("amqp-publish", "--routing-key", "lang-c", "--content-type", "x/z", octets=got_by_c)
    got_by_go = go_relay("lang-c", "lang-go", 1)
    _, properties, got = channel.basic_get("lang-go", auto_ack=True)
    assert [digest(body)] * 3 == [digest(got_by_c), *got_by_go, digest(got)]
    assert properties.content_type == "x/z"


def test_properties_and_headers_survive_the_go_client(channel, go_relay):
    sent = pika.BasicProperties(
        content_type="text/plain", delivery_mode=2, priority=3, correlation_id="c", message_id="m", type="t",
        app_id="a", timestamp=1_700_000_000, headers={"n": 1, "s": "ü", "t": {"a": [1, 2]}, "none": None, "yes": True},
    )  # fmt: skip
    channel.basic_publish("", "lang-c", b"body", sent)
    go_relay("lang-c", "lang-go", 1)
    _, properties, _ = channel.basic_get("lang-go", auto_ack=True)
    assert vars(sent) == vars(properties)


def test_the_order_of_many_messages_is_kept_through_the_go_client(channel, go_relay):
    bodies = [b"%d" % number for number in range(500)]
    for body in bodies:
        channel.basic_publish("", "lang-c", body)
    assert [digest(body) for body in bodies] == go_relay("lang-c", "lang-go", 500)
    assert bodies == [channel.basic_get("lang-go", auto_ack=True)[2] for _ in bodies]


def test_c_consumes_what_go_published(channel, amqp_tools, go_relay):
    for number in range(3):
        channel.basic_publish("", "lang-python", b"m%d " % number)
    go_relay("lang-python", "lang-c", 3)
    assert amqp_tools("amqp-consume", "--queue", "lang-c", "--count", "3", "cat") == b"m0 m1 m2 "


def test_pybrokerctl_lists_the_queues_with_their_depth(broker, channel):
    if not broker.is_ours:
        pytest.skip("RabbitMQ has its own command line")
    for _ in range(4):
        channel.basic_publish("", "lang-python", b"x")
    listed = [line.split() for line in broker.ctl("list_queues", "-q").splitlines()]
    assert ["lang-python", "4"] in listed
