"""The module in C makes of messages what Python makes of them, wherever it has an answer.

Under the address and undefined behaviour sanitizers, each object in a block of its own:

    cc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared -fPIC \
        $(python3-config --includes) pybroker/wire/amqp10/_contents.c -o /tmp/_contents.so
    LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0 PYBROKER_CONTENTS=/tmp/_contents.so \
        python -m pytest tests/wire/amqp10/test_contents_twin.py
"""

import importlib
import importlib.util
import json
import os
import random
from struct import pack

import pytest

from pybroker.wire.amqp10 import to_content
from pybroker.wire.amqp10.encoding import binary, list_of, map_of, symbol, text
from pybroker.wire.amqp10.front import UNKNOWN
from pybroker.wire.amqp10.sections import APPLICATION_PROPERTIES, DATA, PROPERTIES, section
from pybroker.wire.amqp10.to_content import contents_of, framed, pure_content
from tests.sources import ROOT

NAME = "pybroker.wire.amqp10._contents"
ROWS = json.loads((ROOT / "tests/wire/amqp10/rabbitmq_3_10_8.json").read_text())["messages"]
GOOD = [bytes.fromhex(row["message"]) for row in ROWS]


def load():
    """Return the module in C; None where it was not built."""
    path = os.environ.get("PYBROKER_CONTENTS")
    if not path:
        try:
            return importlib.import_module(NAME)
        except ImportError:
            return None
    spec = importlib.util.spec_from_file_location(NAME, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


C = load()
needs_c = pytest.mark.skipif(C is None, reason="the module in C was not built")


@pytest.fixture
def pure(monkeypatch):
    """Have Python convert everything."""
    monkeypatch.setattr(to_content, "_common", pure_content)


def same(message: bytes) -> bool:
    """Compare what C makes of a message, if it does, with what Python makes; tell whether it does."""
    found = C.content(message)
    if found is not None:
        assert (UNKNOWN, *found) == contents_of([message])[0]
    return found is not None


VALUES = [
    *[b"\x40", b"\x41", b"\x42", b"\x43", b"\x44", b"\x45", b"\x50\x80", b"\x51\x80", b"\x52\x80", b"\x53\x80"],
    *[b"\x54\x80", b"\x55\x80", b"\x55\x7f", b"\x56\x01", b"\x60\x80\x01", b"\x61\x80\x01"],
    *[b"\x70" + bytes(4), b"\x71\x80\0\0\0", b"\x72\x7f\xc0\0\0", b"\x73\0\0\0A", b"\x74" + bytes(4)],
    *[b"\x80\x7f" + bytes(7), b"\x80\xff" + bytes(7), b"\x81\x80" + bytes(7), b"\x82\xff" + bytes(7)],
    *[b"\x83" + pack(">q", 1_700_000_000_999), b"\x83\xff" + bytes(7), b"\x98" + bytes(16)],
    *[text(b""), text(b"\xff"), text(b"v" * 300), b"\xb1\0\0\0\1v", symbol(b"s"), b"\xb3\0\0\0\1s", binary(b"\xff")],
    *[list_of([b"\x40"]), map_of([(text(b"k"), b"\x40")]), b"\0\x53\x01\x40"],
]
KEYS = [
    *[
        text(key)
        for key in (b"a", b"a", b"b", b"long" * 32, b"long" * 33, b"\xc3\xa4", b"", b"x-basic", b"x-basic-type")
    ],
    *[text(b"x-basic-app-id"), text(b"x-stream-filter-value"), symbol(b"c"), b"\x54\x01"],
]
ODD = (0, 1, 0x40, 0x53, 0x74, 0x75, 0xA1, 0xC1, 0xFF)


def random_message(source: random.Random) -> bytes:
    """Return a message that clients may send, or nearly one."""

    def place(number: int) -> bytes:
        special = {1: binary(b"guest"), 9: b"\x83" + pack(">q", source.getrandbits(44))}
        long = text(b"t" * source.choice((1, 254, 255, 256)))
        return special.get(number) or source.choice([b"\x40", text(b"%d" % source.getrandbits(30)), long, symbol(b"s")])

    places = [place(number) for number in range(source.randrange(15))]
    if source.random() < 0.2 and places:
        places[source.randrange(len(places))] = source.choice(VALUES)
    pairs = [(source.choice(KEYS), source.choice(VALUES)) for _ in range(source.choice((0, 0, 1, 1, 2, 3, 40)))]
    sections = []
    if source.random() < 0.7:
        wide = b"\xd0" + pack(">LL", 5, 1) + b"\x40"
        sections.append(section(PROPERTIES, source.choice((list_of(places), list_of(places), wide))))
    if source.random() < 0.6:
        sections.append(section(APPLICATION_PROPERTIES, map_of(pairs)))
    body = binary(bytes(source.choice((0, 1, 254, 255, 300))))
    sections.append(section(DATA, source.choice((body, b"\xb0\0\0\0\1x"))))
    if source.random() < 0.1:
        source.shuffle(sections)
    if source.random() < 0.1:
        sections.append(source.choice(sections))
    octets = bytearray(b"".join(sections))
    while source.random() < 0.2:
        octets[source.randrange(len(octets))] = source.choice(ODD)
    return bytes(octets[: source.choice((None, None, None, -1, -3))])


@needs_c
def test_thousands_of_messages_become_the_same_contents(pure, seed):
    source = random.Random(seed)
    assert sum(same(random_message(source)) for _ in range(6_000)) > 1_000


@needs_c
def test_what_rabbitmq_delivers_becomes_the_same_contents(pure):
    assert sum(map(same, GOOD)) > 10
    for message in GOOD:
        for cut in range(min(len(message), 200)):
            same(message[:cut])


@needs_c
def test_plain_messages_are_converted_in_c():
    assert C.content(section(DATA, binary(b"x"))) == (framed(b"\0\0", b"x"), 1)
    with pytest.raises(TypeError):
        C.content("text")


@needs_c
def test_a_module_built_for_another_seam_is_not_used(monkeypatch):
    monkeypatch.delenv("PYBROKER_PURE", raising=False)
    assert C.SEAM == to_content.SEAM
    monkeypatch.setattr(to_content, "SEAM", C.SEAM + 1)
    assert to_content._choose() is pure_content


def test_pure_is_what_the_environment_asks_for(monkeypatch):
    monkeypatch.setenv("PYBROKER_PURE", "1")
    assert to_content._choose() is pure_content
