"""The whole store in one deterministic schedule, cut and tripped anywhere (simulator/), and faults planted into it.

`PYBROKER_SIMULATOR_SEED` repeats a sample. One world: `python -m tests.store.simulator --world SEED:NUMBER`.
"""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Thread

import pytest

from tests.store.simulator.__main__ import DIMENSIONS, live
from tests.store.simulator.mutants import MUTANTS

FOLDER = Path(__file__).parent
SAMPLE_POINTS = 1_000
# Known and not mended yet: a start after a failed sync believes what the page cache shows, and the disk lacks.
UNMENDED: frozenset[str] = frozenset()
WHOLE = frozenset(DIMENSIONS) - UNMENDED
# Worlds in which a promise was broken once, with streams: by messages that the log had alone, segments that had gone,
# a read without an answer and one with two, octets counted for ever, and a floor that went back.
FOUND = ("3:207", "3:236", "3:269", "5:28", "20261128:108", "20261129:150", "20261201:142")
# Within so many points each mutant has to be found; most are within a tenth of them.
MUTANT_POINTS = 50_000


def in_a_thread(call):
    """Call in a thread of its own: jobs of the simulated threads are greenlets, which no layer of the broker may be."""
    results = []
    thread = Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    (result,) = results
    return result


def run(*arguments):
    """Run the simulator as a program; return what it exits with, and what it says."""
    command = [sys.executable, "-m", "simulator", *arguments]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def sample(seed):
    points = Counter()
    number = 0
    while sum(points.values()) < SAMPLE_POINTS:
        outcome = live(f"{seed}:{number}", WHOLE)
        assert not outcome.kind, f"--world {outcome.seed}: {outcome.kind}: {outcome.text}"
        points += outcome.points
        number += 1
    return points


def test_a_sample_of_schedules_keeps_every_promise():
    seed = os.environ.get("PYBROKER_SIMULATOR_SEED") or str(random.SystemRandom().getrandbits(32))
    print(f"PYBROKER_SIMULATOR_SEED={seed}")
    print(in_a_thread(lambda: sample(seed)))


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_once_is_not_found_again(seed):
    outcome = in_a_thread(lambda: live(seed, WHOLE))
    assert not outcome.kind, f"{outcome.kind}: {outcome.text}"


def test_a_world_is_the_same_each_time():
    def twice():
        events = [], []
        outcomes = [live("same:1", WHOLE, each) for each in events]
        return events, [outcome._replace(seconds=0) for outcome in outcomes]

    (first, second), outcomes = in_a_thread(twice)
    assert first == second
    assert outcomes[0] == outcomes[1]
    assert len(first) > 100


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_can_be_planted(name):
    mutant = MUTANTS[name]
    text = (FOLDER.parents[1] / "pybroker/store" / f"{mutant.module.replace('.', '/')}.py").read_text()
    assert text.count(mutant.old) == 1, "the store was changed there: plant this mutant anew"


def test_a_planted_fault_is_found():
    code, said = run("--mutant", "thrown_away", "--seed", "1", "--only", "line,submit", "--points", "2000")
    assert code == 1, said


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_is_found(name):
    more = "--only", MUTANTS[name].only, "--jobs", str(os.cpu_count())
    code, said = run("--mutant", name, "--points", str(MUTANT_POINTS), *more)
    print(said)
    assert code == 1, said


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_hundred_thousand_places():
    jobs = str(os.cpu_count())
    code, said = run("--points", "100000", "--jobs", jobs, "--without", ",".join(UNMENDED))
    print(said)
    assert code == 0, said
