"""The module in C makes of messages what Python makes of them, wherever it has an answer.

Under the address and undefined behaviour sanitizers, each object in a block of its own:

    cc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared -fPIC \
        $(python3-config --includes) pybroker/wire/amqp10/_contents.c -o /tmp/_contents.so
    LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0 PYBROKER_CONTENTS=/tmp/_contents.so \
        python -m pytest tests/wire/amqp10/test_contents_twin.py
"""

import contextlib
import importlib
import importlib.util
import json
import os
import random
from struct import pack

import pytest
from hypothesis import given

from pybroker.errors import AmqpError
from pybroker.wire.amqp10 import to_content, to_message
from pybroker.wire.amqp10.encoding import binary, list_of, map_of, symbol, text
from pybroker.wire.amqp10.front import UNKNOWN
from pybroker.wire.amqp10.sections import APPLICATION_PROPERTIES, DATA, PROPERTIES, section
from pybroker.wire.amqp10.to_content import contents_of, framed, pure_content, pure_entry
from pybroker.wire.amqp10.to_message import entries_of_contents
from pybroker.wire.properties import (
    APP_ID,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    CORRELATION_ID,
    DELIVERY_MODE,
    EXPIRATION,
    HEADERS,
    MESSAGE_ID,
    PRIORITY,
    REPLY_TO,
    TIMESTAMP,
    TYPE,
    USER_ID,
    encode_properties,
    join_properties,
)
from pybroker.wire.table import encode_value, join_table
from tests import strategies
from tests.sources import ROOT
from tests.strategies import few

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
    monkeypatch.setattr(to_message, "common_entry", pure_entry)


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


NAMES = b"".join(octets for pair in to_message._names("x", "key") for octets in pair)


def same_entry(properties: bytes, body: bytes) -> bool:
    """Compare what C makes of a content, if it does, with what Python makes; tell whether it does."""
    found = C.entry(properties, body, NAMES)
    if found is not None:
        assert [found] == entries_of_contents([(properties, body)], "x", "key")
    return found is not None


@needs_c
@few
@given(strategies.properties)
def test_properties_become_the_same_messages(properties):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(to_message, "common_entry", pure_entry)
        octets = encode_properties(properties)
        same_entry(octets, b"body")
        for cut in range(min(len(octets), 300)):
            C.entry(octets[:cut], b"", NAMES)


FIELDS = [encode_value(value, letter) for letter, value in [("t", True), ("b", -1), ("B", 255), ("s", -2), ("u", 3)]]
FIELDS += [encode_value(number, "I") for number in (0, 127, 128, -128, -129, -(2**31))]
FIELDS += [encode_value(number, "l") for number in (0, 127, 128, -128, -129, -(2**63))]
FIELDS += [encode_value(number, "i") for number in (0, 255, 256, 2**32 - 1)] + [b"L" + bytes(8), b"f" + bytes(4)]
FIELDS += [encode_value(number, "T") for number in (1, 2**63 // 1000, 2**63 // 1000 + 1)] + [
    b"V",
    b"t\7",
    b"d" + bytes(8),
]
FIELDS += [encode_value(octets, "S") for octets in (b"", b"v" * 254, b"v" * 255, b"\xff", "ä".encode())]
FIELDS += [
    b"V",
    b"t\7",
    b"d" + bytes(8),
    encode_value(b"\xff", "x"),
    b"D\2\0\0\0\1",
    encode_value([1], "A"),
    encode_value({"a": 1}, "F"),
]


def random_properties(source: random.Random) -> bytes:
    """Return property octets that clients may send, or nearly so."""
    values = {}
    texts = (CONTENT_TYPE, CONTENT_ENCODING, CORRELATION_ID, REPLY_TO, EXPIRATION, MESSAGE_ID, TYPE, USER_ID, APP_ID)
    for flag in source.sample(texts, source.randrange(len(texts))):
        octets = source.choice((b"", b"1000", b"amqp-1.0", b"t" * 254, b"t" * 255, b"\xff"))
        values[flag] = bytes((len(octets),)) + octets
    if source.random() < 0.5:
        values[TIMESTAMP] = source.choice((1, 1_700_000_000, 2**63 // 1000, 2**63)).to_bytes(8)
    if source.random() < 0.5:
        values |= {DELIVERY_MODE: b"\2", PRIORITY: b"\7"}
    if source.random() < 0.7:
        keys = (b"", b"k", b"long" * 32, b"k" * 255)
        count = source.choice((0, 1, 2, 5, 130))
        values[HEADERS] = join_table([(source.choice(keys), source.choice(FIELDS)) for _ in range(count)])
    return join_properties(values)


@needs_c
def test_thousands_of_contents_become_the_same_messages(pure, seed):
    source = random.Random(seed)
    taken = 0
    for _ in range(4_000):
        octets = random_properties(source)
        taken += same_entry(octets, bytes(source.choice((0, 1, 254, 255, 300))))
        damaged = bytearray(octets)
        damaged[source.randrange(len(damaged))] = source.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        with contextlib.suppress(AmqpError):
            same_entry(bytes(damaged), b"")
    assert taken > 400


@needs_c
def test_plain_messages_are_converted_in_c():
    assert C.content(section(DATA, binary(b"x"))) == (framed(b"\0\0", b"x"), 1)
    with pytest.raises(TypeError):
        C.content("text")
    assert C.entry(b"\0\0", b"x", NAMES).endswith(section(DATA, binary(b"x")))
    assert C.entry(b"\0\0" + bytes(3_000), b"x", NAMES) is None
    assert C.entry(b"\0\0", b"x", bytes(3_000)) is None
    for arguments in ((), (b"", b""), ("", b"", b""), (b"", "", b""), (b"", b"", "")):
        with pytest.raises(TypeError):
            C.entry(*arguments)


@needs_c
def test_a_module_built_for_another_seam_is_not_used(monkeypatch):
    monkeypatch.delenv("PYBROKER_PURE", raising=False)
    assert C.SEAM == to_content.SEAM
    monkeypatch.setattr(to_content, "SEAM", C.SEAM + 1)
    assert to_content._choose() == ("pure Python", pure_content, pure_entry)


def test_pure_is_what_the_environment_asks_for(monkeypatch):
    monkeypatch.setenv("PYBROKER_PURE", "1")
    assert to_content._choose() == ("pure Python", pure_content, pure_entry)


@pytest.mark.parametrize("codec", ["C", "pure"])
@pytest.mark.parametrize("seed", range(20))
def test_parts_are_those_of_contents(request, codec, seed):
    if codec == "pure":
        request.getfixturevalue("pure")
    source = random.Random(seed)
    # Neighbours alike but for their bodies, among others.
    messages = []
    for _ in range(60):
        message = random_message(source)
        messages += [message] * source.choice((1, 1, 3))
        front = section(PROPERTIES, list_of([text(b"same")])) * source.randrange(2)
        messages += [front + section(DATA, binary(bytes(source.choice((0, 1, 255, 256))))) for _ in range(3)]
    bodies, fronts = to_content.parts_of(messages)
    assert [number for number, _ in fronts] == sorted({number for number, _ in fronts})
    places = dict(fronts)
    front = places[0]
    for number, (body, (origin, content, _)) in enumerate(zip(bodies, contents_of(messages), strict=True)):
        front = places.get(number, front)
        assert (framed(front.properties, body), front.origin) == (content, origin)
