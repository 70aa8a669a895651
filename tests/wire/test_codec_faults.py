"""Faults of C: an argument believed, a reference lost, an exception swallowed, an allocation trusted."""

import gc
import sys
from typing import Any

import pytest

from pybroker.errors import AmqpError
from pybroker.wire.content import attributes_for
from tests.codecs_compared import C, needs_c, same_scan
from tests.streams import ack, content_frames, props, publish, publish_frame

pytestmark = needs_c

OCTETS_MAX, MESSAGE_MAX = 4_096, 60_000
ONE = publish(1, "", "k", b"body", props(message_id="m")) + ack(1, 1) + publish(1, "", "k", b"body") * 3 + ack(1, 4)
# Big enough for more than one block of whatever grows, small enough to fail at every allocation.
LONG = publish(1, "", "k", b"body") * 300 + publish(1, "", "k", b"", props(headers={"ü": 1})) * 2
KNOWN = {publish_frame(1, "", "k"): ("route",)}
WRONG_SCANS = [
    (),
    (b"", 0, {}, 1, 1),
    (bytearray(b"x" * 50), 0, {}, 1, 1, []),
    (memoryview(ONE), 0, {}, 1, 1, []),
    (ONE, "0", {}, 1, 1, []),
    (ONE, 0, [], 1, 1, []),
    (ONE, 0, {}, None, 1, []),
    (ONE, 0, {}, 1, 1.5, []),
    (ONE, 0, {}, 1, 1, ()),
    (ONE, -1, {}, 1, 1, []),
    (ONE, 0, {}, -1, 1, []),
]
WRONG_ENCODES = [
    (),
    ((), b"h", 1, b"t", [b"c"], 1),
    ([], "h", 1, b"t", [b"c"], 1),
    ([], b"h", "1", b"t", [b"c"], 1),
    ([], b"h", 1, None, [b"c"], 1),
    ([], b"h", 1, b"t", (b"c",), 1),
    ([], b"h", 1, b"t", [b"c", "d"], 1),
    ([], b"h", 1, b"t", ["c"], 1),
    ([], b"h", 1, b"t", [b"c", None], 9_999),
    ([], b"h", 1, b"t", [b"c"], "1"),
]


@pytest.mark.parametrize("arguments", WRONG_SCANS)
def test_scan_refuses_what_is_not_its_kind(arguments):
    with pytest.raises(TypeError):
        C.scan(*arguments)


@pytest.mark.parametrize("arguments", [(), ((), 1), ([b""], "1"), ([None], 1), ([b"", "x"], 1)])
def test_on_channel_refuses_what_is_not_its_kind(arguments):
    with pytest.raises(TypeError):
        C.on_channel(*arguments)


@pytest.mark.parametrize("arguments", WRONG_ENCODES)
def test_encode_refuses_what_is_not_its_kind(arguments):
    with pytest.raises(TypeError):
        C.encode(*arguments)


def test_numbers_that_do_not_fit_are_refused():
    for arguments in ((ONE, 2**64, {}, 1, 1, []), (ONE, 0, {}, 2**64, 1, []), (ONE, 0, {}, 1, -(2**64), [])):
        with pytest.raises(OverflowError):
            C.scan(*arguments)
    with pytest.raises(OverflowError):
        C.encode([], b"h", -1, b"t", [b"c"], 1)


class Fault(Exception):
    """Nothing the codec expects."""


@pytest.fixture
def asking():
    """Yield a way to let somebody else answer for properties."""
    yield lambda answer: C.bind(answer, AmqpError)
    C.bind(attributes_for, AmqpError)


def test_what_python_raises_comes_through_unless_it_refuses_the_message(asking):
    def fail(_: bytes) -> None:
        raise Fault

    asking(fail)
    octets = publish(1, "", "k", b"b", props(headers={"ü": 1}))
    with pytest.raises(Fault):
        C.scan(octets, 0, KNOWN, OCTETS_MAX, MESSAGE_MAX, [])


def test_a_refused_message_leaves_those_before_it():
    good, bad = publish(1, "", "k", b"b"), publish(1, "", "k", b"b", props(expiration="soon"))
    position, events = same_scan(good * 2 + bad + good, 0, KNOWN, OCTETS_MAX, MESSAGE_MAX)
    assert (2 * len(good), 2) == (position, len(events[0][2]))


def leaks(work: Any, blocks: int = 20, times: int = 100) -> bool:
    """Tell whether there are so many blocks more after `work` has been done many times, in each of three rounds.

    A leak is in every round; the numbers of the next tests, which a thread of the test runner gets, are in one.
    """
    for _ in range(3):
        work()
    return all(_allocations(work, times) >= blocks for _ in range(3))


def _allocations(work: Any, times: int) -> int:
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(times):
        work()
    gc.collect()
    return sys.getallocatedblocks() - before


def scan_all(octets: bytes) -> list[Any]:
    events: list[Any] = []
    C.scan(octets, 0, KNOWN, OCTETS_MAX, MESSAGE_MAX, events)
    return events


@pytest.mark.parametrize(
    "octets",
    [
        ONE,
        LONG,
        LONG[:-1],
        publish(9, "", "k"),
        publish(1, "", "k", b"x" * 300, piece=1) * 300,
        publish(1, "", "k") + publish(1, "", "k", b"", props(expiration="soon")),
        b"".join(publish(1, "", "k", b"b" * i, props(priority=i % 256, expiration=str(i))) for i in range(600)),
    ],
    ids=["one", "long", "cut", "unknown", "pieces", "refused", "kinds"],
)
def test_scan_leaks_nothing(octets):
    assert not leaks(lambda: scan_all(octets))


def test_encode_leaks_nothing():
    small, large = [b"a" * 30] * 20, [b"b" * 5_000] * 20
    frames = content_frames(5, b"body") * 20

    def work() -> None:
        C.encode([], b"h", 1, b"t", small, 600)
        C.encode([], b"h", 1, b"t", large, 100_000)
        C.encode([], b"h", 1, b"t", large[:1], 100_000)
        C.on_channel(frames, 3)
        with pytest.raises(ValueError, match="whole frames"):
            C.on_channel([*frames, b"x"], 3)

    assert not leaks(work)


def test_errors_leak_nothing(asking):
    def fail(_: bytes) -> None:
        raise Fault

    def work() -> None:
        for arguments in WRONG_SCANS:
            with pytest.raises(TypeError):
                C.scan(*arguments)
        for arguments in WRONG_ENCODES:
            with pytest.raises(TypeError):
                C.encode(*[[*one] if isinstance(one, list) else one for one in arguments])
        with pytest.raises(Fault):
            scan_all(LONG)

    asking(fail)
    assert not leaks(work, 50)


def test_every_allocation_may_fail():
    testing = pytest.importorskip("_testcapi")
    route = KNOWN[publish_frame(1, "", "k")]
    small, large, frames = [b"a" * 30] * 20, [b"b" * 5_000] * 20, content_frames(5, b"body") * 20
    works = [
        lambda: scan_all(ONE),
        lambda: scan_all(LONG),
        lambda: C.encode([], b"h", 1, b"t", small, 600),
        lambda: C.encode([], b"h", 1, b"t", large, 100_000),
        lambda: C.on_channel(frames, 3),
    ]

    def fail_at_each(work: Any) -> int:
        failed = 0
        for start in range(1, 200):
            testing.set_nomemory(start, start + 1)
            try:
                work()
            except MemoryError:
                failed += 1
            finally:
                testing.remove_mem_hooks()
        return failed

    for work in works:
        references = sys.getrefcount(route), sys.getrefcount(small[0]), sys.getrefcount(large[0])
        assert fail_at_each(work) > 1
        assert not leaks(lambda work=work: fail_at_each(work), times=10)
        assert references == (sys.getrefcount(route), sys.getrefcount(small[0]), sys.getrefcount(large[0]))
    same_scan(LONG, 0, KNOWN, OCTETS_MAX, MESSAGE_MAX)
