"""The long run: many kills and power cuts under a storm, in pieces, so that one that was interrupted can go on.

    python -m tests.faults.long_run --kills 200 --cuts 60 --seed 1 --results run.jsonl

Each piece (ten kills, ten cuts) has a seed of its own, a line of its figures on standard output and in the file; what
the file has already is not done again. The sum comes last. The exit code is 1 if a promise was broken. With --until-bad
it ends at the first broken one and keeps what was on the disk.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.checker import Verdict
from tests.faults.cuts import LIFE, life
from tests.faults.kills import BLOCK, block, small_disk


def kill_piece(folder: Path, number: int, seed: int, starts_s: list[float], keep: Path | None) -> Verdict:
    """Return the verdict on one block of kills; what is bad is kept."""
    with small_disk(folder / "image", folder / "b") as disk:
        verdict = block(disk, number, seed, starts_s)
        if verdict.bad and keep is not None:
            shutil.copytree(disk, keep, dirs_exist_ok=True)
    return verdict


def cut_piece(folder: Path, number: int, seed: int, starts_s: list[float], keep: Path | None) -> Verdict:
    """Return the verdict on one broker's power cuts; the last copy of its disk is kept if that is bad."""
    verdict = life(folder, number, seed, starts_s, lambda total: not (keep and total.bad))
    if verdict.bad and keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "copy", keep)
    return verdict


PIECES = {"kill": (kill_piece, BLOCK), "cut": (cut_piece, LIFE)}


def pieces(kind: str, number: int, seed: int) -> list[tuple[str, int, int]]:
    """Return the pieces of so many faults: kind, how many, seed."""
    each = PIECES[kind][1]
    return [(kind, min(each, number - at), seed + at) for at in range(0, number, each)]


def run(kind: str, number: int, seed: int, keep: Path | None, results: Path | None) -> Verdict:
    """Do one piece, in memory if that is possible, and print its line."""
    began, starts_s = time.monotonic(), []
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="pybroker-", dir=memory))
    try:
        verdict = PIECES[kind][0](folder, number, seed, starts_s, keep)
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)
    figures = {"start_p50_s": round(sorted(starts_s)[len(starts_s) // 2], 3), "pieces": number}
    line = verdict.line(kind, seed, began, **figures)
    print(line, flush=True)
    if results is not None:
        with results.open("a") as file:
            file.write(line + "\n")
    return verdict


def read(results: Path | None) -> dict[tuple[str, int, int], dict]:
    """Return the lines of pieces that were done, by kind, number and seed."""
    if results is None or not results.exists():
        return {}
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return {(line["test"], line["pieces"], line["seed"]): line for line in lines}


def main() -> int:
    """Do what is left to do; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--results", type=Path)
    parser.add_argument("--until-bad", type=Path, metavar="FOLDER", help="keep the disk of the first bad piece here")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    began, total = time.monotonic(), Verdict()
    done = read(args.results)
    for piece in pieces("kill", args.kills, args.seed) + pieces("cut", args.cuts, args.seed):
        if piece in done:
            known = done[piece]
            verdict = Verdict(**{name: known[name] for name in known.keys() & asdict(total).keys()})
        else:
            verdict = run(*piece, args.until_bad, args.results)
        total.add(verdict)
        if verdict.bad and args.until_bad:
            break
    print(total.line("long run", args.seed, began))
    return 1 if total.bad or total.void else 0


if __name__ == "__main__":
    sys.exit(main())
