import pytest

from tests.fakes import FakePeer, World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def peer(world: World) -> FakePeer:
    """A client with channel 1 open."""
    return world.connect()
