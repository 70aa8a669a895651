"""pybrokerctl against 113 answers of rabbitmqctl 3.10.8: exit code, stream, banner, columns, keys, units."""

import shlex
import tempfile
from pathlib import Path

import pytest
from pamqp import commands

from tests.ctl.live_node import NODE_NAME, LiveNode
from tests.ctl.sample import Answer, Excuse, differences, load_excuses, load_samples

SAMPLES = load_samples()
EXCUSES = load_excuses()
EXCHANGE = "load-fanout"


@pytest.fixture(scope="module")
def node():
    """A node with what the sampled one had: nothing but one exchange, and nobody connected."""
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        node = LiveNode(Path(name))
        with node.peer() as peer:
            peer.call(commands.Exchange.Declare(exchange=EXCHANGE, exchange_type="fanout"), commands.Exchange.DeclareOk)
            peer.close()
        node.wait_for("list_connections -s", "")
        yield node
        node.end()


@pytest.fixture
def answer(node, ctl, monkeypatch):
    """Run a sample's command line."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(node.folder))
    places = {"node": NODE_NAME, "port": str(node.port)}

    def run(name: str) -> Answer:
        words = shlex.split(SAMPLES[name].run.replace("$port", str(node.port)))
        return Answer(*ctl(*words), places)

    return run


def excuses_of(name: str) -> list[Excuse]:
    return [excuse for excuse in EXCUSES if name in excuse.samples]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_answer_is_rabbitmqctls_or_excused(name, answer):
    found = differences(SAMPLES[name], excuses_of(name), answer(name))
    assert not found, "\n".join([f"{name}: pybrokerctl {SAMPLES[name].run}", *found])


@pytest.mark.parametrize("excuse", EXCUSES, ids=lambda excuse: "+".join(excuse.samples)[:60])
def test_an_excuse_is_needed(excuse, answer):
    # Every single claim: whoever makes an answer equal takes its excuse away.
    answers = {name: answer(name) for name in excuse.samples}
    for kind, which in excuse.items():
        less = excuse.without(kind, which)
        rest = {name: [less if one is excuse else one for one in excuses_of(name)] for name in answers}
        needed = [name for name in answers if differences(SAMPLES[name], rest[name], answers[name])]
        if kind == "refused":
            assert needed == list(excuse.samples), f"{kind} {which!r} is needed by {needed} only"
        assert needed, f"no longer needed: {kind} {which!r} of {', '.join(excuse.samples)}"


def test_all_samples_are_there():
    assert len(SAMPLES) == 113


def test_every_excuse_has_a_reason_and_names_samples():
    assert [excuse for excuse in EXCUSES if len(excuse.reason) < 20 or not excuse.items()] == []
    assert {name for excuse in EXCUSES for name in excuse.samples} <= SAMPLES.keys()
