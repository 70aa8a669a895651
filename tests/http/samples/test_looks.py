"""Objects as they were when somebody asked."""

from pybroker.http.samples import looks
from pybroker.http.samples.looks import Figures, Looks

QUEUE = Figures(("queue", "/", "q"), ("publish", "ack"))


def test_a_rate_is_that_since_an_earlier_look():
    found = Looks()
    assert found.rates(QUEUE, (10, 5), 1_000_000) == [0.0, 0.0]
    assert found.rates(QUEUE, (30, 1), 1_002_000) == [10.0, -2.0]
    assert found.rates(QUEUE, (70, 1), 1_006_000) == [10.0, -4 / 6]
    # This look and the last one are too near: the one before that counts.
    assert found.rates(QUEUE, (70, 1), 1_006_500) == [60 / 6.5, -4 / 6.5]
    assert found.rates(QUEUE, (70, 1), 1_016_000) == [0.0, 0.0]


def test_others_have_their_own():
    found = Looks()
    found.rates(QUEUE, (10,), 0)
    assert found.rates(QUEUE._replace(key=("queue", "/", "other")), (30,), 5_000) == [0.0]


def test_only_so_many_are_remembered(monkeypatch):
    monkeypatch.setattr(looks, "LISTED_MAX", 2)
    monkeypatch.setattr(looks, "WATCHED_MAX", 2)
    found = Looks()
    for name in "abc":
        found.rates(Figures((name,), ("n",)), (0,), 0)
        found.watch(Figures((name,), ("n",)), (0,), 0)
    assert found.rates(Figures(("c",), ("n",)), (5,), 5_000) == [1.0]
    assert found.rates(Figures(("a",), ("n",)), (5,), 5_000) == [0.0]
    assert [figures.key for figures in found._watched] == [("b",), ("c",)]


def test_one_that_is_looked_at_alone_has_a_history():
    found = Looks()
    for second in range(0, 20, 5):
        history = found.watch(QUEUE, (second, 0), 1_000 * second)
    assert history.rate("publish", 15_000) == 1.0
