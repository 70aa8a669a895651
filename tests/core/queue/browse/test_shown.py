"""Documents that are handed over together."""

from pybroker.core.queue.browse import shown as module
from pybroker.core.queue.browse.browse import browse
from pybroker.core.queue.browse.shown import Shown
from tests.readers import Bench


def test_so_many_are_handed_over_or_what_is_left(monkeypatch):
    monkeypatch.setattr(module, "BATCH_DOCUMENTS", 3)
    bench = Bench()
    bench.flood(7)
    shown = Shown(bench.queue, 100, raw=False)
    messages = filter(None, browse(bench.queue, pause=lambda _: None))
    batches = [batch for message in messages for batch in shown.add(message)]
    assert [[1, 2, 3], [4, 5, 6]] == [[one["seq"] for one in batch] for batch in batches]
    assert [7] == [one["seq"] for one in shown.hand_over()]
    assert shown.hand_over() == []
