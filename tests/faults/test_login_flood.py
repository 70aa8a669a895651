"""Reliability §5, 19: a thousand wrong passwords a second stall the loop for less than 20 ms, and keep nobody out."""

import json
import subprocess
import sys

import pytest

from tests.sources import ROOT


@pytest.mark.slow
def test_a_login_flood_keeps_nobody_out():
    # A process of its own: flood and prober want the machine, and nothing of pytest's.
    command = [sys.executable, "-m", "tests.bench.bench_logins", "--secs", "20"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=110, check=False)
    figures = json.loads(done.stdout)
    print(done.stdout.decode())
    assert figures["honest_refused"] == 0
    # Each attempt was answered, by a refusal.
    assert (figures["flood_refused"], figures["flood_silent"]) == (figures["flood_tried"], 0)
    assert figures["newcomer_logins"] > 20
    assert figures["stall_p99_ms"] < 20
