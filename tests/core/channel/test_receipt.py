"""A receipt waits for every log that the publish reached, each to its own position."""

from hypothesis import given, strategies as st

from pybroker.core.channel.receipt import Receipt
from tests.slow import GatheringLog

logs = st.integers(0, 2)
waits = st.lists(st.tuples(logs, st.integers(0, 4)), max_size=5)


def receipt_of(found: list[GatheringLog], pairs: list[tuple[int, int]]) -> Receipt:
    receipt = Receipt()
    for number, position in pairs:
        receipt.wait(found[number], position)
    return receipt


def naive(*pairs: tuple[int, int]) -> dict[int, int]:
    """Return the highest position for each log."""
    return {number: position for number, position in sorted(pairs) if position}


@given(waits, waits, st.lists(st.integers(0, 5), min_size=3, max_size=3), st.sets(logs))
def test_it_is_on_disk_when_every_log_has_it(first, second, completed, failed):
    found = [GatheringLog() for _ in range(3)]
    receipt = receipt_of(found, first)
    receipt.join(receipt_of(found, second))
    receipt.want()
    expected = naive(*first, *second)
    assert [[expected[number]] if number in expected else [] for number in range(3)] == [log.wanted for log in found]
    for number, log in enumerate(found):
        log.completed = completed[number]
        log.failed = f"log {number}" if number in failed else ""
    left = {f"log {number}" * (number in failed) for number, at in expected.items() if at > completed[number]}
    assert not left == receipt.completed == (receipt.awaited is None)
    assert receipt.failed in (left - {""} or {""})


@given(waits, waits)
def test_one_covers_another_that_waits_for_the_same_or_for_nothing(first, second):
    found = [GatheringLog() for _ in range(3)]
    one, other = naive(*first), naive(*second)
    mine, theirs = receipt_of(found, sorted(one.items())), receipt_of(found, sorted(other.items()))
    assert (one == other or not other) == mine.covers(theirs)
