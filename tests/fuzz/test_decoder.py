"""Any octets of a peer are either understood or raise AmqpError, and soon.

More than half of the inputs nest tables or arrays (tests/wire_grammar.py). The long run is `pytest -m slow tests/fuzz`:
a million inputs, one JSON line; PYBROKER_FUZZ_SEED and PYBROKER_FUZZ_N change them.
"""

import gc
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.errors import AmqpError
from pybroker.wire import properties, table, validate
from pybroker.wire.frame import split_frame
from pybroker.wire.methods import decode_method, encode_method
from pybroker.wire.properties import (
    Properties,
    attributes_of,
    decode_properties,
    encode_properties,
    find_headers,
    replace_headers,
)
from pybroker.wire.table import decode_table, encode_table, join_table, split_table
from pybroker.wire.validate import Limits
from tests import strategies, wire_grammar

SEED = int(os.environ.get("PYBROKER_FUZZ_SEED", "20240901"))
N = int(os.environ.get("PYBROKER_FUZZ_N", "1000000"))
# One input may not hold up everybody else's (requirements: no hang above 50 ms).
CPU_NS_MAX = 50_000_000
FRAME_OCTETS_MAX = 131_072


def read_table(octets: bytes) -> None:
    values, end = decode_table(octets)
    again = encode_table(values)
    assert values.keys() == decode_table(again)[0].keys()
    assert octets[:end] == join_table(split_table(octets[:end]))


def read_method(octets: bytes) -> None:
    octets_again = encode_method(1, decode_method(octets))
    decode_method(octets_again[7:-1])


def read_properties(octets: bytes) -> None:
    attributes = attributes_of(octets)
    assert octets[:2] == encode_properties(decode_properties(octets))[:2]
    assert octets == replace_headers(octets, find_headers(octets))
    assert attributes == attributes_of(octets)


def read_frame(octets: bytes) -> None:
    found = split_frame(octets, 0, FRAME_OCTETS_MAX)
    if found is None:
        return
    kind, channel, start, end = found
    assert 0 <= channel <= 0xFFFF
    if kind == 1:
        read_method(octets[start:end])
    elif kind == 2:
        read_properties(octets[start + 12 : end])


READERS = {"table": read_table, "method": read_method, "properties": read_properties, "frame": read_frame}


@dataclass
class Outcome:
    """The outcomes of a run of inputs."""

    nested: int = 0
    understood: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    slowest_ns: int = 0
    octets: int = 0


def run(n: int, seed: int) -> Outcome:
    outcome = Outcome()
    for target, octets, nested in wire_grammar.Grammar(seed).inputs(n):
        outcome.nested += nested
        outcome.octets += len(octets)
        started = time.thread_time_ns()
        try:
            READERS[target](octets)
            outcome.understood += 1
        except AmqpError as error:
            outcome.refused[error.reply_code] += 1
        except Exception as error:
            error.add_note(f"seed {seed}, {target} {octets[:300].hex()}")
            raise
        outcome.slowest_ns = max(outcome.slowest_ns, time.thread_time_ns() - started)
    return outcome


def test_thousands_of_inputs_raise_nothing_but_amqp_errors(seed):
    outcome = run(5_000, seed)
    assert outcome.nested > 2_500
    assert outcome.understood > 500
    assert {501, 502, 503, 406} == set(outcome.refused) - {540}


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_a_million_inputs_raise_nothing_but_amqp_errors(capsys):
    started = time.monotonic()
    outcome = run(N, SEED)
    line = {
        "test": "decoder_fuzz",
        "seed": SEED,
        "n": N,
        "nested": outcome.nested,
        "understood": outcome.understood,
        "refused": dict(sorted(outcome.refused.items())),
        "octets": outcome.octets,
        "slowest_ms": round(outcome.slowest_ns / 1e6, 3),
        "duration_s": round(time.monotonic() - started, 1),
    }
    with capsys.disabled():
        print(json.dumps(line))
    assert outcome.nested * 2 >= N
    assert outcome.slowest_ns < CPU_NS_MAX


def test_without_the_guard_the_same_inputs_exhaust_the_stack(monkeypatch):
    """The mutant: a fuzzer that does not find it proves nothing."""
    real = validate.check_table

    def unlimited(octets: bytes, offset: int, end: int, _: Limits | None = None) -> int:
        return real(octets, offset, end, Limits(1 << 30, 1 << 30))

    for module in (validate, table, properties):
        monkeypatch.setattr(module, "check_table", unlimited)
    with pytest.raises(RecursionError):
        run(10_000, SEED)


@st.composite
def towers(draw: st.DrawFn) -> bytes:
    """Draw tables and arrays inside each other, up to thousands of levels, around a valid table or anything else."""
    depth = draw(st.one_of(st.integers(1, 40), st.integers(30, 34), st.integers(100, 5_000)))
    pattern = draw(st.sampled_from(["F", "A", "FA", "FFA"]))
    letters = (pattern * depth)[:depth]
    core = draw(st.binary(max_size=10) | strategies.tables.map(encode_table))
    return wire_grammar.nest(letters, draw(strategies.keys).encode(), core)


@st.composite
def damaged(draw: st.DrawFn, valid: st.SearchStrategy[bytes]) -> bytes:
    """Draw valid octets with a few replaced, removed or added."""
    octets = bytearray(draw(valid))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(octets)))
        octets[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    return bytes(octets)


method_octets = strategies.methods().map(lambda method: encode_method(1, method)[7:-1])
property_octets = strategies.properties.map(encode_properties)
queue_declares = towers().map(lambda octets: bytes.fromhex("0032 000a 0000 01 71 00") + octets)
start_oks = towers().map(lambda octets: bytes.fromhex("000a 000b") + octets + bytes.fromhex("01 61 00000000 01 62"))
headers = towers().map(lambda octets: b"\x20\x00" + octets)


def is_read_or_refused(read, octets: bytes) -> None:
    refusal = None
    # Collecting the garbage of a whole test run takes longer than any input may.
    gc.disable()
    started = time.thread_time_ns()
    try:
        read(octets)
    except AmqpError as error:
        refusal = error
    finally:
        spent_ns = time.thread_time_ns() - started
        gc.enable()
    assert spent_ns < CPU_NS_MAX
    if refusal is not None:
        assert refusal.reply_code in (406, 501, 502, 503, 540)
        assert len(refusal.reply_text.encode()) <= 255


thorough = settings(max_examples=100, deadline=None)


@thorough
@given(towers() | damaged(towers()))
def test_any_tower_of_tables_is_read_or_refused(octets):
    is_read_or_refused(read_table, octets)


@thorough
@given(queue_declares | start_oks | damaged(queue_declares | start_oks) | damaged(method_octets))
def test_any_method_is_read_or_refused(octets):
    is_read_or_refused(read_method, octets)


@thorough
@given(headers | damaged(headers) | damaged(property_octets))
def test_any_header_is_read_or_refused(octets):
    is_read_or_refused(read_properties, octets)


@thorough
@given(st.binary(max_size=60))
def test_any_octets_are_read_or_refused(octets):
    for read in READERS.values():
        is_read_or_refused(read, octets)


def test_the_largest_of_frames_are_refused_soon():
    """131,072 octets of the cheapest entries, of the longest string, of the deepest nesting."""
    fields = FRAME_OCTETS_MAX - 12
    for octets in (
        fields.to_bytes(4) + b"\x00V" * (fields // 2),
        wire_grammar.nest("FA" * (fields // 20), b"kkkk", b""),
        wire_grammar.nest("A" * (fields // 5), b"", b""),
        encode_table({"k": "x" * fields}),
        encode_table({str(n): "x" * 100 for n in range(1_024)}),
    ):
        is_read_or_refused(read_table, octets)
        is_read_or_refused(read_properties, b"\x20\x00" + octets)
    is_read_or_refused(decode_properties, encode_properties(Properties(headers=table.Table({"k": [None] * 16_000}))))
