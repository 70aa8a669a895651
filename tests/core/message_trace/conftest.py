import pytest
from pamqp import commands

from tests.fakes import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def peer(world):
    peer = world.connect()
    peer.declare("q")
    return peer


@pytest.fixture
def follow(world):
    """Start a trace of the virtual host."""

    def follow(count=1, duration_ms=60_000, **which):
        trace = world.broker.traces.follow(world.vhost, count, duration_ms, **which)
        assert trace is not None
        return trace

    return follow


def names(trace) -> list[str]:
    """Return the names of the events since the last call."""
    return [event["event"] for event in trace.poll(10_000)]


def told(trace, name: str) -> dict:
    """Return the one event of this name since the last call."""
    [event] = [event for event in trace.poll(10_000) if event["event"] == name]
    return event


def declare_exchange(peer, name, kind="direct", **arguments):
    """Declare an exchange."""
    peer.call(commands.Exchange.Declare(exchange=name, exchange_type=kind, arguments=arguments))
