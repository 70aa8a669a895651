"""Any octets give the same events, positions, outputs and errors in both codecs, also when they are cut anywhere.

The long run is `pytest -m slow tests/fuzz/test_codec.py`: ten million inputs, one JSON line; PYBROKER_FUZZ_SEED and
PYBROKER_FUZZ_N change it. Under the address and undefined behaviour sanitizers, each object in a block of its own:

    cc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared -fPIC \
        $(python3-config --includes) pybroker/wire/_codec.c -o /tmp/_codec.so
    LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0 PYBROKER_CODEC=/tmp/_codec.so PYBROKER_FUZZ_N=1000000 \
        python -m pytest -m "" tests/fuzz/test_codec.py tests/wire/test_codec*.py
"""

import json
import os
import time
from collections import Counter

import pytest

from tests.codec_grammar import MESSAGE_MAX, OCTETS_MAX, Grammar, routes
from tests.codecs_compared import needs_c, same_encode, same_on_channel, same_scan

pytestmark = needs_c

SEED = int(os.environ.get("PYBROKER_FUZZ_SEED", "20241121"))
N = int(os.environ.get("PYBROKER_FUZZ_N", "10000000"))
# Of so many inputs one is cut at every octet, the others at one.
CUT_EVERYWHERE = 500
ROUTES = routes()


def check(octets: bytes, cut: int, seen: Counter[str]) -> None:
    """Read it whole, and in two parts as a session does: what was left, and what came then."""
    position, events = same_scan(octets, 0, ROUTES, OCTETS_MAX, MESSAGE_MAX)
    first, some = same_scan(octets[:cut], 0, ROUTES, OCTETS_MAX, MESSAGE_MAX)
    second, others = same_scan(octets, first, ROUTES, OCTETS_MAX, MESSAGE_MAX)
    assert flat(events) == flat(some + others)
    assert position == second
    seen["inputs"] += 1
    seen["read to the end"] += position == len(octets)
    seen["events"] += len(events)
    for event in events:
        if event[0] is not None:
            _, _, contents, octets_in_all, _, _ = event
            seen["messages"] += len(contents)
            same_encode(b"head", 2**40 + cut, b"tail", contents, octets_in_all)
            same_on_channel(contents, cut % 65_536)


def flat(events: list[tuple]) -> list[tuple]:
    """Return one tuple a message or acknowledgement: a cut may end an event."""
    found: list[tuple] = []
    for event in events:
        if event[0] is None:
            _, channel, first, last, multiple = event
            found += [(channel, tag, multiple) for tag in range(first, last + 1)]
        else:
            found += [(event[0], event[1], content) for content in event[2]]
    return found


def run(n: int, seed: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number, (octets, cut) in enumerate(Grammar(seed).streams(n)):
        try:
            check(octets, cut, seen)
            if number % CUT_EVERYWHERE == 0 and len(octets) < 2_000:
                for place in range(len(octets)):
                    same_scan(octets[:place], 0, ROUTES, OCTETS_MAX, MESSAGE_MAX)
                    same_scan(octets, place, ROUTES, OCTETS_MAX, MESSAGE_MAX)
                seen["cut everywhere"] += 1
        except BaseException as error:
            error.add_note(f"seed {seed}, input {number}, cut {cut}: {octets[:2_000].hex()}")
            raise
    return seen


def test_thousands_of_inputs_mean_the_same_to_both(seed):
    seen = run(4_000, seed)
    assert seen["messages"] > 8_000
    assert 800 < seen["read to the end"] < 3_600
    assert seen["cut everywhere"] > 1


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_ten_million_inputs_mean_the_same_to_both(capsys):
    started = time.monotonic()
    seen = run(N, SEED)
    line = {"test": "codec_fuzz", "seed": SEED, "n": N, **seen, "duration_s": round(time.monotonic() - started, 1)}
    with capsys.disabled():
        print(json.dumps(line))
    assert seen["inputs"] == N
