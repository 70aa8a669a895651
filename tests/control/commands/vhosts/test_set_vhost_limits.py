import pytest

from pybroker.control.spec import Refused


def refusal(operator, **given):
    with pytest.raises(Refused) as refused:
        operator.ask("set_vhost_limits", **given)
    return refused.value.exit_code, refused.value.text


def test_limits_replace_those_of_before(operator):
    operator.ask("set_vhost_limits", definition='{"max-connections": 2, "max-queues": 5}')
    operator.ask("set_vhost_limits", definition='{"max-queues": 7}')
    assert operator.list("list_vhost_limits", all_vhosts=True) == [["/", '{"max-queues":7}']]


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ('{"max-queues": 1.5}', "Validation failed\n\nmax-queues should be a number, actually was 1.5\n"),
        ('{"max-channels": 1}', 'Validation failed\n\nUnrecognised terms [{<<"max-channels">>,1}] in limits\n'),
    ],
)
def test_what_is_no_limit_is_refused(operator, definition, text):
    code, said = refusal(operator, definition=definition)
    assert (code, said.rstrip("\n")) == (69, text.rstrip("\n"))
    assert operator.list("list_vhost_limits", all_vhosts=True) == []


def test_an_unknown_virtual_host_is_refused(operator):
    assert refusal(operator, definition="{}", vhost="x") == (65, "Virtual host 'x' does not exist")
