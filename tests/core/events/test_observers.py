from pybroker.core.events.cause import because
from pybroker.core.events.observers import Observers


def test_each_is_told_in_the_order_in_which_they_were_added():
    told, observers, cause = [], Observers(), because("why")
    for number in (1, 2):
        observers.add(lambda *given, number=number: told.append((number, *given)))
    observers.notify("user.created", {"name": "a"}, cause)
    observers.notify("user.deleted", {"name": "a"})
    facts = {"name": "a"}
    assert told == [
        *((number, "user.created", facts, cause) for number in (1, 2)),
        *((number, "user.deleted", facts, None) for number in (1, 2)),
    ]
