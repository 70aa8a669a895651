from array import array

from topology import exchange, new_vhost, wired

from pybroker.core.publish import names_of
from pybroker.core.schedule import shelf as shelves
from pybroker.core.schedule.agenda import Item
from pybroker.core.schedule.shelf import by_seq, stretch_of
from pybroker.run import PLAIN_TRAITS, Run


def run_of(first, count):
    return Run(names_of("x", "k"), PLAIN_TRAITS, first, [b"c" * 30] * count, 30 * count, count, 1, 0)


def test_only_what_the_log_has_goes_and_the_oldest_first(monkeypatch):
    monkeypatch.setattr(shelves, "KEPT_MESSAGES", 2)
    vhost = new_vhost()
    shelf = exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type="fanout")).schedule.shelf
    run = run_of(1, 6)
    for index in range(6):
        shelf.put(run, index, 1, logged=index != 1)
    vhost.broker.log.safe_seq = 4
    shelf.let_go()
    assert [2, 4, 5, 6] == list(shelf.runs)
    vhost.broker.log.safe_seq = 100
    shelf.let_go()
    assert ([2, 6], 2, False) == (list(shelf.runs), shelf.octets, len(shelf.runs) > 2)
    assert (run, None) == (shelf.take(2, 1), shelf.take(2, 1))


def test_a_stretch_has_its_messages_in_order():
    stretch = stretch_of([Item(9, 5, 1), Item(1, 7, 1), Item(5, 6, 1), Item(2, 1, 4)])
    assert [(1, 1, 4), (5, 3, 1)] == list(stretch.ranges())
    assert array("Q", [1, 5]) == stretch.firsts


def test_a_run_of_which_little_is_wanted_is_not_kept_whole():
    run = run_of(1, 100)
    here = by_seq([(run, range(3, 4)), (run_of(200, 2), range(2))])
    assert {4, 200, 201} == set(here)
    assert (4, 1, 2) == (here[4].first_seq, here[4].count, here[200].count)
