"""The examples that are printed are run, as they stand, but for the broker's address."""

import inspect
import re
import textwrap
from pathlib import Path

import pytest

import pybroker.client
from tests.client.scripted import WAIT_S, in_thread

ADDRESS = "amqp://guest:guest@localhost/"


def blocks(text, begin):
    """Return the indented blocks of a docstring that begin with a line."""
    text = inspect.cleandoc(text)
    found = re.findall(rf"^( {{4,}}{re.escape(begin)}.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in found]


def run(code, broker, **names):
    """Run it, in a thread; return its future and its names."""
    assert ADDRESS in code
    code = code.replace(ADDRESS, f"amqp://guest:guest@{broker.host}:{broker.port}/")
    return in_thread(exec, compile(code, "example", "exec"), names), names


@pytest.fixture
def orders(channel):
    """Look at the queue that the examples use; it goes with the test."""
    yield channel
    channel.queue_delete("orders")


def test_the_modules_examples(broker, orders):
    publish, consume = blocks(pybroker.client.__doc__, "from pybroker.client")
    run(publish, broker)[0].result(WAIT_S)
    assert orders.queue_declare("orders", passive=True).message_count == 1
    printed = []
    running, names = run(consume, broker, print=lambda body: (printed.append(body), names["connection"].close()))
    running.result(WAIT_S)
    assert printed == [b"two of them"]


def test_the_readmes_example(broker, orders):
    text = (Path(__file__).parents[2] / "README.md").read_text()
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "import Properties, connect" in block
    )
    printed = []
    run(code, broker, print=printed.append)[0].result(WAIT_S)
    assert printed == [b"two of them"]


def test_the_channels_example(broker, orders, connection):
    (code,) = blocks(pybroker.client.Channel.__doc__, "with connection.channel()")
    exec(code, {"connection": connection, "Properties": pybroker.client.Properties})
    assert orders.basic_get("orders", no_ack=True).body == b"two of them"


def test_declarations_without_an_answer_as_documented(connection, channel):
    (code,) = re.findall(
        r">>> (for number.*?)\n\s*\n?\s*\"*\Z", pybroker.client.channel.channel.Declaring.__doc__, re.DOTALL
    )
    code = re.sub(r"^\s*(>>>|\.\.\.) ", "", code, flags=re.MULTILINE).replace("durable=True", "exclusive=True")
    exec(code, {"channel": channel})
    assert channel.queue_declare("orders-7", passive=True).message_count == 0
