"""A publish with several faults is refused for the one that RabbitMQ looks at first, and always as basic.publish."""

import pytest

from tests.fakes import Exchange

REPLY_TO = "amq.rabbitmq.reply-to"


def refusal(peer, exchange: str, body: bytes = b"", delivery_mode: int | None = None, **properties) -> tuple[int, str]:
    frames = peer.publish_frames(exchange, "k", body, **properties)
    if delivery_mode is not None:
        frames[1].properties.delivery_mode = delivery_mode  # pamqp's constructor would refuse it
    code, text = peer.error(*frames)  # which looks at class and method as well
    return code, text.split(" - ")[1]


@pytest.mark.parametrize("body", [b"", b"body"])
@pytest.mark.parametrize(
    "properties", [{}, {"expiration": "x"}, {"delivery_mode": 3}, {"headers": {"CC": 1}}, {"user_id": "other"}]
)
def test_the_exchange_comes_before_the_properties(peer, body, properties):
    assert refusal(peer, "nosuch", body, **properties) == (404, "no exchange 'nosuch' in vhost '/'")


@pytest.mark.parametrize("body", [b"", b"body"])
def test_what_is_wrong_with_the_properties_has_an_order(peer, body):
    faults = {
        "reply_to": (REPLY_TO, "fast reply consumer does not exist"),
        "user_id": ("other", "user_id property set to 'other' but authenticated user was 'guest'"),
        "expiration": ("x", "invalid expiration 'x': no_integer"),
        "headers": ({"CC": "k"}, 'invalid message: {unacceptable_type_in_header,"CC",longstr}'),
        "delivery_mode": (3, "invalid message: {delivery_mode_unknown,3}"),
    }
    while faults:
        properties = {name: value for name, (value, _) in faults.items()}
        _, text = faults.pop(next(iter(faults)))
        assert refusal(peer, "amq.direct", body, **properties) == (406, text)


def test_an_internal_exchange_comes_before_the_properties(peer):
    peer.call(Exchange.Declare(exchange="inside", internal=True))
    text = "cannot publish to internal exchange 'inside' in vhost '/'"
    assert refusal(peer, "inside", b"x", delivery_mode=0) == (403, text)
