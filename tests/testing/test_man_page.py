"""The manual's examples run, and it names what there is."""

import re

import pytest

from pybroker.testing import Broker, QueueView, VirtualHost, strict
from pybroker.testing.supervisor import ORDERS
from tests.sources import ROOT
from tests.testing.test_plugin import OPTIONS

pytest_plugins = ["pytester"]
PAGE = (ROOT / "man/pybroker-testing.7").read_text().replace(r"\-", "-").replace(r"\(dq", '"').replace(r"\fR", "")
EXAMPLES = re.findall(r"^\.EX\n(.*?)^\.EE", PAGE.partition("\n.SH EXAMPLES")[2], re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("number", "library", "passed"), [(0, "pika", 2), (1, "aio_pika", 1), (2, "celery", 1)])
def test_an_example_runs(pytester, number, library, passed):
    pytest.importorskip(library)
    pytester.makepyfile(EXAMPLES[number])
    pytester.runpytest_subprocess(*OPTIONS, "--pybroker-strict").assert_outcomes(passed=passed)


@pytest.mark.parametrize("kind", [Broker, VirtualHost, QueueView])
def test_every_method_is_explained(kind):
    names = [name for name in vars(kind) if not name.startswith("_")]
    internal = {"forget", "direct_port", "collect", "end_faults", "resume", "close", "running"}
    assert [name for name in names if name not in internal and not re.search(rf"\b{name}\b", PAGE)] == []


def test_every_check_and_order_is_explained():
    assert [name for name in strict.ALL if f"\n.B {name}\n" not in PAGE] == []
    assert [word for word in re.findall(r"[a-z]+", ORDERS) if not re.search(rf"\b{word}\b", PAGE)] == []
