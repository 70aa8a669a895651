"""Records are found piece by piece, and behind whatever is damaged."""

import random
from itertools import pairwise

import pytest

from pybroker.store import format as fmt, publish_record
from pybroker.store.segments.scan import Damaged, Record, Scanner, scan
from tests.store.records import SEED, one_of_each, publish, random_run, run_of


def pieces(octets, rng, largest):
    at = 0
    while at < len(octets):
        size = rng.randint(1, largest)
        yield octets[at : at + size]
        at += size


def fed(octets, parts, start=0):
    """Return what is found when the octets come in parts, and the scanner."""
    scanner = Scanner(SEED, start)
    found = []
    for part in parts:
        found += scanner.feed(part)
    found += scanner.feed(b"", final=True)
    return found, scanner


def records(found):
    return [each for each in found if isinstance(each, Record)]


def damages(found):
    return [each for each in found if isinstance(each, Damaged)]


def some(count=12, seed=1, octets_max=100):
    rng = random.Random(seed)
    made, seq = [], 1
    for _ in range(count):
        run = random_run(rng, seq, octets_max)
        made.append(publish(run))
        seq += run.count
    return made


def offsets(parts, start=0):
    made = [start]
    for part in parts:
        made.append(made[-1] + len(part))
    return made


def test_records_are_found_in_order():
    made = one_of_each()
    found = list(scan(b"head" + b"".join(made), 4, SEED))
    assert [each.type for each in found] == [1, 2, 3, 3, 4, 5]
    assert [each.offset for each in found] == offsets(made, 4)[:-1]
    assert [each.payload for each in found] == [octets[12:] for octets in made]


@pytest.mark.parametrize("rest", [b"", bytes(1), bytes(11), bytes(12), bytes(10_000)])
def test_zeros_are_the_end(rest):
    made = b"".join(one_of_each())
    found, scanner = fed(made, [made + rest])
    assert len(records(found)) == 6
    assert (damages(found), scanner.end) == ([], len(made))


def test_nothing_is_found_in_nothing():
    for octets in (b"", bytes(5), bytes(100_000)):
        assert not list(scan(octets, 0, SEED))


def test_pieces_of_any_size_find_the_same():
    made = some()
    octets = b"".join(made) + bytes(5_000)
    whole = list(scan(octets, 0, SEED))
    rng = random.Random(2)
    for largest in (1, 2, 13, 100, 1_000, 100_000):
        found, scanner = fed(octets, pieces(octets, rng, largest))
        assert found == whole
        assert scanner.end == len(octets) - 5_000


def test_it_says_how_much_of_a_record_is_missing():
    record = publish(random_run(random.Random(1), 1, 100))
    scanner = Scanner(SEED, 0)
    assert scanner.missing == 0
    list(scanner.feed(record[: fmt.RECORD_OCTETS - 1]))
    assert scanner.missing == 0
    list(scanner.feed(record[fmt.RECORD_OCTETS - 1 : fmt.RECORD_OCTETS + 1]))
    assert scanner.missing == len(record) - fmt.RECORD_OCTETS - 1
    list(scanner.feed(record[fmt.RECORD_OCTETS + 1 :]))
    assert scanner.missing == 0


def test_nothing_counts_behind_a_footer():
    made = one_of_each()
    octets = b"".join(made[:3]) + fmt.record(fmt.FOOTER, b"what it says", SEED) + b"a trailer" + b"".join(made)
    found, scanner = fed(octets, [octets])
    assert [each.type for each in found] == [1, 2, 3, 6]
    assert scanner.done


@pytest.mark.parametrize("parts", [7, 100, 1_000_000])
def test_of_damage_in_a_payload_exactly_that_record_is_lost(parts):
    made = some()
    bounds = offsets(made)
    rng = random.Random(3)
    for at in range(len(made)):
        octets = bytearray(b"".join(made) + bytes(200))
        octets[rng.randrange(bounds[at] + 12, bounds[at + 1])] ^= rng.randint(1, 255)
        found, scanner = fed(octets, pieces(bytes(octets), rng, parts))
        assert [each.offset for each in records(found)] == bounds[:at] + bounds[at + 1 : -1]
        assert damages(found) == [Damaged(bounds[at], len(made[at]), fmt.PUBLISH)]
        assert scanner.end == (bounds[-1] if at < len(made) - 1 else bounds[-2])


@pytest.mark.parametrize("parts", [11, 1_000_000])
def test_of_damage_in_a_head_exactly_that_record_is_lost(parts):
    made = some()
    bounds = offsets(made)
    rng = random.Random(4)
    for at in range(len(made)):
        for octet in range(12):
            octets = bytearray(b"".join(made) + bytes(200))
            octets[bounds[at] + octet] ^= rng.randint(1, 255)
            found, _ = fed(octets, pieces(bytes(octets), rng, parts))
            assert [each.offset for each in records(found)] == bounds[:at] + bounds[at + 1 : -1]
            (damage,) = damages(found)
            assert (damage.offset, damage.offset + damage.octets) == (bounds[at], bounds[at + 1])


@pytest.mark.parametrize("parts", [30, 300, 1_000_000])
def test_any_damage_costs_what_it_touches_and_nothing_else(parts):
    made = some(40, seed=5)
    bounds = offsets(made)
    whole = b"".join(made)
    for seed in range(60):
        rng = random.Random(seed)
        start = rng.randrange(len(whole))
        end = min(len(whole), start + rng.choice((1, 10, 100, 1_000, 5_000)))
        instead = rng.choice((bytes(end - start), rng.randbytes(end - start), b"\xff" * (end - start)))
        octets = whole[:start] + instead + whole[end:]
        touched = [at for at, (a, b) in enumerate(pairwise(bounds)) if octets[a:b] != whole[a:b]]
        found, _ = fed(octets, pieces(octets, rng, parts))
        assert [each.offset for each in records(found)] == [bounds[at] for at in range(len(made)) if at not in touched]
        lost = {offset for each in damages(found) for offset in range(each.offset, each.offset + each.octets)}
        for at in touched:
            # All of what was changed is told of; zeros at the very end are no damage.
            changed = {offset for offset in range(bounds[at], bounds[at + 1]) if octets[offset] != whole[offset]}
            assert {offset for offset in changed if octets[offset:].strip(b"\0")} <= lost
        kept = {offset for at in range(len(made)) if at not in touched for offset in range(bounds[at], bounds[at + 1])}
        assert not kept & lost


def test_zeros_amid_the_records_are_damage():
    made = some(20, seed=6)
    bounds = offsets(made)
    octets = b"".join(made[:5]) + bytes(bounds[9] - bounds[5]) + b"".join(made[9:]) + bytes(9_000)
    for parts in (3, 64, 1_000_000):
        found, scanner = fed(octets, pieces(octets, random.Random(7), parts))
        assert [each.offset for each in records(found)] == bounds[:5] + bounds[9:-1]
        assert damages(found) == [Damaged(bounds[5], bounds[9] - bounds[5], 0)]
        assert scanner.end == bounds[-1]


def test_a_torn_tail_ends_with_its_last_octet():
    made = one_of_each()
    whole = b"".join(made)
    for parts in (1, 50, 1_000_000):
        octets = whole + publish(run_of([b"a" * 500], 99))[:-20] + bytes(10_000)
        found, scanner = fed(octets, pieces(octets, random.Random(8), parts))
        assert len(records(found)) == 6
        damage = damages(found)
        assert (damage[0].offset, damage[-1].offset + damage[-1].octets) == (
            len(whole),
            len(octets.rstrip(b"\0")) if damage[0].type == 0 else len(whole + publish(run_of([b"a" * 500], 99))),
        )
        assert scanner.end == len(whole)


def test_a_file_that_stops_in_a_record_is_damaged_there():
    made = one_of_each()[:3]
    whole = b"".join(made)
    for cut in range(1, len(made[-1]) - 4):  # the first octets of its crc may be zeros, and so the end
        (damage,) = damages(scan(whole[:-cut], 0, SEED))
        assert damage.offset == len(whole) - len(made[-1])
        assert damage.offset + damage.octets == len(whole[:-cut].rstrip(b"\0"))


def test_a_record_inside_a_message_is_no_record():
    inner = publish(run_of([b"inner"], 5), seed=fmt.seed(0, 2))
    made = [publish(run_of([inner], 1)), publish(run_of([b"x"], 2))]
    octets = bytearray(b"".join(made))
    octets[2] ^= 1
    assert [each.offset for each in records(scan(bytes(octets), 0, SEED))] == [len(made[0])]


def test_a_length_that_is_too_large_is_damage_and_not_waited_for():
    made = one_of_each()
    octets = bytearray(b"".join(made) + bytes(100))
    octets[4:8] = b"\xff\xff\xff\x7f"
    scanner = Scanner(SEED, 0)
    found = list(scanner.feed(bytes(octets)))
    assert len(records(found)) == 5


def test_a_head_that_was_only_searched_for_hides_nothing_behind_it():
    # 16 bits are soon guessed: what looks like a long record ends where another seems to begin, records of others lie
    # between. Only at the end of a sound record, or of one whose end is known, is a length believed.
    def head(length):
        return fmt.RECORD.pack(0, length, fmt.PUBLISH, 0, fmt.check(length, fmt.PUBLISH, SEED))

    others = b"".join(publish(run_of([b"x" * 50], seq)) for seq in range(10, 15))
    tail = publish(run_of([b"tail " + head(5) * 9], 20))
    body = b"before " + head(0)
    made = publish(run_of([body], 1))
    fake = made.index(head(0))
    length = len(made) - fake - fmt.RECORD_OCTETS + len(others) + tail.index(head(5))
    made = publish(run_of([b"before " + head(length)], 1))
    octets = bytearray(made + others + tail)
    octets[4:8] = b"\xff" * 4
    for piece in (16, 100, len(octets)):
        scanner = Scanner(SEED, 0)
        found = []
        for at in range(0, len(octets), piece):
            found += scanner.feed(bytes(octets[at : at + piece]), final=at + piece >= len(octets))
        assert [publish_record.range_of(each.payload)[0] for each in records(found)] == [10, 11, 12, 13, 14, 20]
