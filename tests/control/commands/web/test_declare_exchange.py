"""Exchanges that users of the HTTP API declare."""

import pytest

from pybroker.errors import AccessRefused, CommandInvalid, PreconditionFailed


def test_it_is_made_once(run, world):
    what = {"name": "e", "vhost": "/", "type": "topic", "durable": True, "internal": True}
    assert run("declare_exchange", **what) == {"created": True}
    assert run("declare_exchange", **what) == {"created": False}
    exchange = world.vhost.exchanges["e"]
    assert (exchange.TYPE, exchange.durable, exchange.internal, exchange.auto_delete) == ("topic", True, True, False)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"name": "amq.x"}, AccessRefused),
        ({"name": ""}, AccessRefused),
        ({"type": "none"}, CommandInvalid),
        ({"name": "amq.direct", "durable": False}, PreconditionFailed),
    ],
)
def test_refusals(run, more, error):
    with pytest.raises(error):
        run("declare_exchange", **{"name": "e", "vhost": "/", **more})


def test_permissions_are_those_of_the_user(run, ann):
    assert run("declare_exchange", ann, name="a", vhost="/") == {"created": True}
    with pytest.raises(AccessRefused, match="configure access to exchange 'b'"):
        run("declare_exchange", ann, name="b", vhost="/")
