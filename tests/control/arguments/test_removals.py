"""Commands that wait for removals."""

from types import SimpleNamespace

import pytest

from pybroker.control.arguments.removals import is_over, when_gone
from pybroker.core.events.cause import BROKER
from pybroker.core.topology.removal import Removal, StillLeavingError


@pytest.fixture
def removal():
    return Removal(BROKER, 7)


@pytest.fixture
def node(removal, world):
    """A node on which the removal ends during the second pause."""
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        removal.is_over = len(pauses) == 2

    return SimpleNamespace(pause=pause, pauses=pauses, broker=world.broker)


def test_what_stands_in_the_way_is_waited_for(node, removal):
    def attempt():
        if not removal.is_over:
            raise StillLeavingError(removal)
        return "done"

    assert when_gone(node, attempt) == "done"
    assert len(node.pauses) == 2
    assert when_gone(node, attempt) == "done"
    assert len(node.pauses) == 2


def test_a_removal_ends_with_its_position(node, removal):
    assert is_over(node, removal) == (7, None)
    assert len(node.pauses) == 2
