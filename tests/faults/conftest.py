"""Fixtures of the fault tests: a broker that never outlives its test, and the JSON line each full test prints."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.checker import Verdict
from tests.faults.broker import Broker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """Return a broker that has not been started, in a folder of its own."""
    broker = Broker(tmp_path / "b")
    yield broker
    broker.clean_up()
    assert "Traceback" not in broker.log


@pytest.fixture
def publish_line(request: pytest.FixtureRequest, seed: int) -> Callable[..., None]:
    """Return what prints a verdict's JSON line, and appends it to the file that FAULTS_LINES names."""
    began = time.monotonic()

    def publish(verdict: Verdict, **figures: object) -> None:
        line = verdict.line(request.node.name, seed, began, **figures)
        print(line, flush=True)
        request.node.add_report_section("call", "figures", line)
        if os.environ.get("FAULTS_LINES"):
            with Path(os.environ["FAULTS_LINES"]).open("a") as lines:
                lines.write(line + "\n")

    return publish
