"""Run the simulator: `python -m tests.store.simulator --seed 1 --points 1000000 --jobs 2`."""

import argparse
import random
import sys
import time
from collections import Counter
from multiprocessing import Pool
from typing import NamedTuple

from tests.store.simulator.mutants import MUTANTS, plant

DIMENSIONS = (
    "kill",
    "power",
    "line",
    "disk",
    "rows",
    "submit",
    "full",
    "missing",
    "stop",
    "backup",
    "cache",
    "streams",
)


class Outcome(NamedTuple):
    """The outcome of one world: its points by dimension, and how a promise was broken, if one was."""

    seed: str
    points: Counter[str]
    lines: set[tuple[str, int]]
    seconds: float
    kind: str = ""
    text: str = ""


def live(seed: str, dimensions: frozenset[str], events: "list[str] | None" = None) -> Outcome:
    """Let one world live."""
    # Here, since mutants are planted before anything of the store is imported.
    from tests.store.simulator.fault import Fault
    from tests.store.simulator.small import small_store
    from tests.store.simulator.violation import Violation
    from tests.store.simulator.world import World

    Fault.hits.clear()
    began = time.process_time()
    world = World(seed, dimensions, events)
    try:
        with small_store(random.Random(f"{seed} epochs")):
            world.run()
    except Violation as error:
        return Outcome(
            seed,
            world.points,
            set(Fault.hits),
            time.process_time() - began,
            error.kind,
            f"{error.text} ({world.fault})",
        )
    return Outcome(seed, world.points, set(Fault.hits), time.process_time() - began)


def _live(job: tuple[str, frozenset[str]]) -> Outcome:
    return live(*job)


def options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="simulator", description=__doc__)
    parser.add_argument("--seed", default=str(random.SystemRandom().getrandbits(32)))
    parser.add_argument("--points", type=int, default=20_000, help="places to be checked")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(DIMENSIONS), help="dimensions")
    parser.add_argument("--without", type=lambda text: text.split(","), default=[], help="dimensions left out")
    parser.add_argument("--violations", type=int, default=1, help="stop at so many")
    parser.add_argument("--mutant", action="append", default=[], help=f"plant a fault: {', '.join(MUTANTS)}")
    parser.add_argument("--world", help="repeat one world, and print what happens in it")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run worlds until there are enough points, or a violation; return 1 for one."""
    asked = options(arguments)
    plant(asked.mutant)
    dimensions = frozenset(asked.only) - frozenset(asked.without)
    if asked.world:
        events: list[str] = []
        outcome = live(asked.world, dimensions, events)
        print("\n".join(events[-2000:]))
        print(outcome.kind, outcome.text)
        return bool(outcome.kind)
    began = time.monotonic()
    points: Counter[str] = Counter()
    lines: set[tuple[str, int]] = set()
    found: Counter[str] = Counter()
    worlds = 0
    used = 0.0
    jobs = ((f"{asked.seed}:{number}", dimensions) for number in range(1 << 40))
    print(f"seed {asked.seed}, {', '.join(sorted(dimensions))}", flush=True)
    with Pool(asked.jobs) as pool:
        for outcome in pool.imap(_live, _bounded(jobs, asked.points)):
            worlds += 1
            used += outcome.seconds
            points += outcome.points
            lines |= outcome.lines
            if outcome.kind:
                found[outcome.kind] += 1
                print(f"{outcome.kind}: {outcome.text}\n    --world {outcome.seed}", flush=True)
            if sum(points.values()) >= asked.points or sum(found.values()) >= asked.violations:
                pool.terminate()
                break
    seconds = time.monotonic() - began
    total = sum(points.values())
    told = ", ".join(f"{name} {count}" for name, count in sorted(points.items()))
    print(f"{total} points in {seconds:.0f} s, {worlds} worlds: {told}; errors at {len(lines)} lines of store/")
    print(f"{1000 * used / max(1, total):.2f} ms of processor time a point")
    print(f"violations: {dict(found) or 'none'}")
    return bool(found)


def _bounded(jobs, points):
    """Give no more worlds than could be needed: the pool takes them ahead."""
    for at, job in enumerate(jobs):
        if at > points:
            return
        yield job


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
