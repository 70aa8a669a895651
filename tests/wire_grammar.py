"""A grammar of what a peer may send: valid methods, headers and tables, nested up to thousands deep, then broken.

Blind mutation never found that nested tables exhaust Python's stack; a grammar that nests finds it in a few inputs.
Plain `random`, because a million inputs have to be made in minutes.
"""

import random
import struct
from collections.abc import Iterator

from pamqp import commands

from pybroker.wire import frame

TARGETS = ("method", "properties", "table", "frame")
NAMES = [b"", b"q", b"x-death", b"CC", b"BCC", b"x-delay", b"x-match", b"k" * 127, b"k" * 128, b"k" * 129, b"k" * 255]
WORDS = [b"", b"a", b"amq.rabbitmq.reply-to", b"60000", b"-1", b"5x", "Grüße 🐇".encode(), b"\xff\xfe", b"w" * 255]
METHODS = list(commands.INDEX_MAPPING.items())
WITH_TABLES = [(index, kind) for index, kind in METHODS if "table" in map(kind.amqp_type, kind.attributes())]
FIXED = {"t": 1, "b": 1, "B": 1, "s": 2, "u": 2, "I": 4, "i": 4, "l": 8, "L": 8, "f": 4, "d": 8, "D": 5, "T": 8, "V": 0}
INTEGERS = {"octet": 1, "short": 2, "long": 4, "longlong": 8}
LENGTHS = [0, 1, 4, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


def with_length(octets: bytes) -> bytes:
    return struct.pack(">I", len(octets)) + octets


def shortstr(octets: bytes) -> bytes:
    return bytes([len(octets)]) + octets


def nest(letters: str, key: bytes, core: bytes) -> bytes:
    """Return a table of a table ... of `core`, from outside to inside as `letters` say; in time linear to its size."""
    heads = [shortstr(key) if outer == "F" else b"" for outer in "F" + letters[:-1]]
    length = sum(len(head) + 5 for head in heads) + len(core)
    parts = [struct.pack(">I", length)]
    for head, letter in zip(heads, letters, strict=True):
        length -= len(head) + 5
        parts.append(head + letter.encode() + struct.pack(">I", length))
    return b"".join([*parts, core])


class Grammar:
    """Makes inputs; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def inputs(self, n: int) -> Iterator[tuple[str, bytes, bool]]:
        """Yield n of (target, octets, whether tables or arrays nest in it)."""
        roll = self.random.random
        for _ in range(n):
            target = self.random.choice(TARGETS)
            nested = roll() < 0.7 or target == "table"
            octets = getattr(self, f"make_{target}")(nested)
            if roll() < 0.4:
                octets = self.broken(octets)
            yield target, octets, nested

    def word(self) -> bytes:
        if self.random.random() < 0.4:
            return self.random.choice(WORDS)
        return self.random.randbytes(self.random.randrange(8)).hex().encode()

    def key(self) -> bytes:
        if self.random.random() < 0.2:
            return self.random.choice(NAMES)
        return bytes([self.random.randrange(97, 123)]) * self.random.randrange(1, 6)

    def scalar(self) -> bytes:
        letter = self.random.choice("tbBsuIilLfdDTVSSSx")
        if letter in FIXED:
            return letter.encode() + self.random.randbytes(FIXED[letter])
        return letter.encode() + with_length(self.word())

    def fields(self, n: int) -> bytes:
        return b"".join([shortstr(self.key()) + self.scalar() for _ in range(n)])

    def table(self, nested: bool) -> bytes:
        """Return a table with its length: flat, or nested around the limit, or far beyond it, or too wide."""
        small = self.random.randrange(4)
        if not nested:
            return with_length(self.fields(small))
        roll = self.random.random()
        if roll < 0.75:
            depth = self.random.randrange(1, 8)
        elif roll < 0.98:
            depth = self.random.randrange(28, 36)
        else:
            depth = self.random.randrange(300, 4_000)
        letters = "".join(self.random.choices("FFA", k=depth))
        if roll < 0.005:
            core = (b"V" if letters[-1] == "A" else b"\x00V") * self.random.choice([1_000, 1_020, 1_100])
        elif letters[-1] == "A":
            core = b"".join([self.scalar() for _ in range(small)])
        else:
            core = self.fields(small)
        return nest(letters, self.key(), core)

    def make_table(self, nested: bool) -> bytes:
        return self.table(nested)

    def make_method(self, nested: bool) -> bytes:
        index, kind = self.random.choice(WITH_TABLES if nested else METHODS)
        parts = [struct.pack(">I", index)]
        bits = 0
        for name in kind.attributes():
            amqp_type = kind.amqp_type(name)
            if amqp_type == "bit":
                if not bits:
                    parts.append(self.random.randbytes(1))
                bits += 1
                continue
            bits = 0
            if amqp_type == "table":
                parts.append(self.table(nested))
            elif amqp_type in INTEGERS:
                parts.append(self.random.randbytes(INTEGERS[amqp_type]))
            else:
                parts.append(shortstr(self.word()) if amqp_type == "shortstr" else with_length(self.word()))
        return b"".join(parts)

    def make_properties(self, nested: bool) -> bytes:
        flags = self.random.getrandbits(16) & 0xFFFC & self.random.getrandbits(16)
        if nested:
            flags |= 1 << 13
        if self.random.random() < 0.02:
            flags |= self.random.randrange(4)
        parts = [struct.pack(">H", flags)]
        for bit in range(15, 1, -1):
            if not flags >> bit & 1:
                continue
            if bit == 13:
                parts.append(self.table(nested))
            elif bit in (12, 11):
                parts.append(bytes([self.random.choice([1, 2, 2, 2, 0, 9])]))
            elif bit == 6:
                parts.append(self.random.randbytes(8))
            elif bit == 8:
                parts.append(shortstr(self.random.choice([b"0", b"60000", b"60000", self.word()])))
            else:
                parts.append(shortstr(self.word()))
        return b"".join(parts)

    def make_frame(self, nested: bool) -> bytes:
        kind = self.random.choice([1, 1, 1, 2, 2, 3, 8, self.random.randrange(256)])
        payload = b""
        if kind == 1:
            payload = self.make_method(nested)
        elif kind == 2:
            payload = struct.pack(">HHQ", 60, 0, self.random.randrange(1 << 40)) + self.make_properties(nested)
        elif kind == 3:
            payload = self.word()
        return frame.frame(kind, self.random.randrange(1 << 16), payload)

    def broken(self, octets: bytes) -> bytes:
        """Return octets with one to three things wrong; lengths and types are hit more often than by chance."""
        out = bytearray(octets)
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            at = self.random.randrange(min(len(out), 256) + 1) if self.random.random() < 0.7 else len(out)
            match self.random.randrange(6):
                case 0:
                    out[at : at + 1] = self.random.randbytes(1)
                case 1:
                    del out[at:]
                case 2:
                    del out[at : at + self.random.randrange(1, 5)]
                case 3:
                    out[at:at] = self.random.randbytes(self.random.randrange(1, 5))
                case 4:
                    out[at : at + 4] = struct.pack(">I", self.random.choice(LENGTHS))
                case 5:
                    out[at : at + 1] = self.random.choice(b"SIlFAxTDtVq\x00\xff").to_bytes()
        return bytes(out)
