"""The README's examples with pika are run, as they stand, but for the broker's port."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pika")

README = Path(__file__).parents[2] / "README.md"
EXAMPLES = [code for code in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "import pika" in code]


def printed(code, broker):
    address = 'ConnectionParameters("localhost"'
    assert address in code
    lines = []
    exec(code.replace(address, f"{address}, {broker.port}"), {"print": lambda *found: lines.append(found)})
    return lines


def test_there_are_two():
    assert len(EXAMPLES) == 2


def test_a_first_message(broker):
    (((method, _, body),),) = printed(EXAMPLES[0], broker)
    assert (method.routing_key, body) == ("hello", b"Hello, world!")


def test_a_stream(broker):
    assert printed(EXAMPLES[1], broker) == [(number, b"event %d" % number) for number in range(10)]
