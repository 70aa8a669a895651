"""Exchanges that users of the HTTP API delete."""

import pytest

from pybroker.control.spec import Refused
from pybroker.errors import AccessRefused, PreconditionFailed


def test_it_goes_with_its_bindings(run, world, peer):
    run("declare_exchange", name="e", vhost="/")
    peer.declare("q")
    run("bind", source="e", kind="queue", destination="q", vhost="/")
    with pytest.raises(PreconditionFailed, match="exchange 'e' in vhost '/' in use"):
        run("delete_exchange", name="e", vhost="/", if_unused=True)
    run("delete_exchange", name="e", vhost="/")
    assert "e" not in world.vhost.exchanges
    with pytest.raises(Refused) as caught:
        run("delete_exchange", name="e", vhost="/")
    assert caught.value.facts == {"missing": "exchange"}


def test_refusals(run, ann):
    with pytest.raises(AccessRefused, match=r"deletion of system exchange 'amq\.direct' in vhost '/' not allowed"):
        run("delete_exchange", name="amq.direct", vhost="/")
    run("declare_exchange", name="b", vhost="/")
    with pytest.raises(AccessRefused, match="configure access to exchange 'b'"):
        run("delete_exchange", ann, name="b", vhost="/")
