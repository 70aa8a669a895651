import pytest

from tests.fakes import World
from tests.stream_peer import StreamPeer


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def peer(world: World) -> StreamPeer:
    """A client whose connection is open, and stream `s`."""
    peer = StreamPeer(world)
    peer.create()
    return peer
