"""Options are checked where they are made, one sentence for each fault."""

import dataclasses

import pytest

from pybroker.client.options import Address, Options


def test_defaults_are_rabbitmqs():
    options = Options()
    assert (options.addresses, options.virtual_host, options.heartbeat_s) == ((Address("localhost", 5672),), "/", 60)
    assert (options.channel_max, options.frame_octets_max, options.recovery_delay_s) == (2047, 131_072, 5.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("addresses", ()),
        ("auth_mechanism", "CRAM-MD5"),
        ("heartbeat_s", -1),
        ("heartbeat_s", 65_536),
        ("channel_max", 0),
        ("frame_octets_max", 4_095),
        ("workers", 0),
        ("callbacks_max", 0),
        ("callback_octets_max", 0),
        ("unconfirmed_max", 0),
        ("body_octets_max", 0),
        ("connect_timeout_s", 0),
        ("handshake_timeout_s", 0),
        ("rpc_timeout_s", 0),
        ("close_timeout_s", 0),
        ("blocked_timeout_s", -1),
        ("recovery_delay_s", -1),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name}: "):
        Options(**{name: value})


def test_options_cannot_be_changed_under_a_connection():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().username = "other"
