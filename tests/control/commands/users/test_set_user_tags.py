import pytest

from pybroker.control import commands
from pybroker.control.spec import Refused


def test_tags_are_replaced_each_once(operator):
    operator.ask("set_user_tags", username="guest", tags=["monitoring", "policymaker", "monitoring"])
    assert operator.list("list_users") == [["guest", ["monitoring", "policymaker"]]]


@pytest.mark.parametrize(
    ("tags", "named"),
    [
        (("administrator", "monitoring", "policymaker", "management", "impersonator"), ""),
        ((), ""),
        (("managment", "monitoring", "managment"), "'managment': "),
        (("managment", "mine"), "'managment', 'mine': "),
    ],
)
def test_a_tag_without_a_meaning_is_told_with_the_nearest(tags, named):
    command = commands.load("set_user_tags")
    told = command.warn(command.parse({"username": "u", "tags": list(tags)}))
    expected = (
        f"{named}no tag that has a meaning here; these have one: administrator, monitoring, policymaker, management, "
        "impersonator. Did you mean 'management'?"
    )
    assert told == (named and expected)


def test_none_takes_them_away(operator):
    operator.ask("set_user_tags", username="guest")
    assert operator.list("list_users") == [["guest", []]]


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("set_user_tags", username="nobody", tags=[])
    assert refused.value.exit_code == 67
