"""An operator policy wins against clients and users, and has RabbitMQ's keys (F13)."""

import pytest

from pybroker.control.spec import Refused


def test_it_wins_against_a_policy(operator, peer):
    peer.declare("q")
    operator.ask("set_policy", name="p", pattern="", definition='{"max-length":5,"message-ttl":7}')
    operator.ask("set_operator_policy", name="o", pattern="", definition='{"max-length":9,"message-ttl":1}')
    columns = ("policy", "operator_policy", "effective_policy_definition")
    assert [["p", "o", [["max-length", "signedint", 5], ["message-ttl", "signedint", 1]]]] == operator.list(
        "list_queues", *columns
    )


@pytest.mark.parametrize("key", ["dead-letter-exchange", "alternate-exchange", "consumer-timeout", "nope"])
def test_f13_other_keys_are_refused(operator, key):
    with pytest.raises(Refused) as refused:
        operator.ask("set_operator_policy", name="o", pattern="", definition=f'{{"{key}":1}}')
    text = f'Validation failed\n\n[{{<<"{key}">>,1}}] are not recognised policy settings'
    assert (69, text) == (refused.value.exit_code, refused.value.text)
