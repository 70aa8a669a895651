"""Hashes as Erlang has them: which bucket a key falls into must not change when a RabbitMQ moves in.

`phash2` is Bob Jenkins' lookup2 over the term's parts, as in the Erlang VM; `jump` is Lamping's and Veach's jump
consistent hash over the numbers of xorshift1024*, as in RabbitMQ's plugin. Knows neither exchanges nor messages.
"""

from typing import Final, TypeAlias

# Values that this project hashes: text is its octets, None the atom `undefined`, a pair a field's type and value.
Term: TypeAlias = "bytes | int | tuple[str, Term] | list[bytes] | None"

GOLDEN: Final = 0x9E3779B9
MASK: Final = 0xFFFFFFFF
# The smallest range of phash2, and the usual one.
RANGE: Final = 1 << 27

_CON: Final = [n * GOLDEN & MASK for n in range(16)]
_NIL: Final = 3468870702
_MASK64: Final = (1 << 64) - 1
_MASK21: Final = (1 << 21) - 1
_SMALL: Final = 1 << 27  # what Erlang hashes as one 32-bit number
_NEWS: Final = 16  # words of state of xorshift1024*


def phash2(term: Term) -> int:
    """Return erlang:phash2 of a term, 0 up to 2^27 - 1."""
    if isinstance(term, list):
        hashed = 0
        for each in term:
            hashed = _block(each, _CON[13] + hashed)
        return (_mix(_CON[2] + 2, _CON[2], hashed) if term else _NIL) % RANGE
    return _hash(term, 0) % RANGE


def _hash(term: Term, hashed: int) -> int:
    match term:
        case None:
            return _atom("undefined", hashed)
        case bool():
            return _atom("true" if term else "false", hashed)
        case bytes():
            return _block(term, _CON[13] + hashed)
        case int():
            return _integer(term, hashed)
        case (str() as kind, value):
            hashed = _mix(_CON[9] + 2, _CON[9], hashed)
            return _hash(value, _atom(kind, hashed))
    raise TypeError(term)


def _atom(name: str, hashed: int) -> int:
    value = 0
    for octet in name.encode("latin-1"):
        value = (value << 4) + octet
        high = value & 0xF0000000
        value = (value ^ (high >> 24) ^ high) & MASK
    return _mix(_CON[3] + value, _CON[3], hashed) if hashed else value


def _integer(value: int, hashed: int) -> int:
    if -_SMALL <= value < _SMALL:
        if value < 0:
            hashed = _mix(GOLDEN - value, GOLDEN, hashed)
        return _mix(GOLDEN + value, GOLDEN, hashed)
    con = _CON[10] if value < 0 else _CON[11]
    rest = abs(value)
    while rest:
        hashed = _mix(con + (rest & MASK), con + (rest >> 32 & MASK), hashed)
        rest >>= 64
    return hashed


def _block(octets: bytes, initial: int) -> int:
    if not octets:
        return initial & MASK
    a = b = GOLDEN
    c = initial & MASK
    whole = len(octets) - len(octets) % 12
    for at in range(0, whole, 12):
        a += int.from_bytes(octets[at : at + 4], "little")
        b += int.from_bytes(octets[at + 4 : at + 8], "little")
        c += int.from_bytes(octets[at + 8 : at + 12], "little")
        a, b, c = _mixed(a, b, c)
    tail = octets[whole:]
    a += int.from_bytes(tail[:4], "little")
    b += int.from_bytes(tail[4:8], "little")
    # Its lowest octet is the length's.
    c += len(octets) + (int.from_bytes(tail[8:], "little") << 8)
    return _mixed(a, b, c)[2]


def _mix(a: int, b: int, c: int) -> int:
    return _mixed(a, b, c)[2]


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for right, left, last in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        c &= MASK
        a = (a - b - c & MASK) ^ (c >> right)
        b = (b - c - a & MASK) ^ (a << left & MASK)
        c = (c - a - b & MASK) ^ (b >> last)
    return a, b, c


def jump(key: int, buckets: int) -> int:
    """Return the bucket of a key, 0 up to `buckets` - 1: with one more bucket only what moves there moves."""
    if buckets == 1:
        return 0
    state = _seeded(key)
    bucket, candidate, at = -1, 0, 0
    while candidate < buckets:
        bucket = candidate
        first, second = state[at % _NEWS], state[(at + 1) % _NEWS]
        second ^= second << 31 & _MASK64
        second ^= second >> 11
        new = first ^ (first >> 30) ^ second
        at += 1
        state[at % _NEWS] = new
        drawn = (new * 1181783497276652981 & _MASK64) / (1 << 64)
        if not drawn:
            break  # as good as infinitely far
        candidate = int((bucket + 1) / drawn)
    return bucket


def _seeded(key: int) -> list[int]:
    """Return the state that RabbitMQ begins with for a key."""
    ones = [((key & _MASK21) + 1) * prime & _MASK21 for prime in (2097131, 2097133, 2097143)]
    word = ones[0] << 43 | ones[1] << 22 | ones[2] << 1 | 1
    state = []
    for _ in range(_NEWS):
        word ^= word >> 12
        word ^= word << 25 & _MASK64
        word ^= word >> 27
        state.append(word * 2685821657736338717 & _MASK64)
    return state[::-1]
