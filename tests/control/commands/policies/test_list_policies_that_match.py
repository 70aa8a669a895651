import pytest

from pybroker.control.spec import BadArguments, Refused


def names(operator, name, **given):
    return [row[1] for row in operator.list("list_policies_that_match", name=name, **given)]


def test_those_that_fit_are_listed_the_one_in_force_first(operator, peer):
    peer.declare("q")
    for name, pattern, priority, apply_to in (
        ("low", "^q", 0, "all"),
        ("high", "^q$", 5, "queues"),
        ("no", "x", 9, "all"),
        ("exchanges", "", 9, "exchanges"),
    ):
        definition = '{"max-length":1}'
        operator.ask(
            "set_policy", name=name, pattern=pattern, definition=definition, priority=priority, apply_to=apply_to
        )
    assert ["high", "low"] == names(operator, "q")
    assert ["exchanges"] == names(operator, "amq.direct", object_type="exchange")


def test_what_there_is_not_is_refused(operator):
    with pytest.raises(Refused, match="queue 'q' was not found in virtual host '/'"):
        names(operator, "q")
    with pytest.raises(Refused, match="exchange 'x' was not found in virtual host '/'"):
        names(operator, "x", object_type="exchange")
    with pytest.raises(BadArguments):
        names(operator, "x", object_type="binding")
