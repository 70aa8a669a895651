"""The last death that fits; whatever a client wrote into x-death, nothing breaks."""

import pytest

from pybroker.core.queue.move.deaths import KEPT, Death, Deaths
from pybroker.run import Run
from tests.contents import NAMES, content, run as make_run


def run_with(**headers) -> Run:
    made = make_run(b"x")
    made.contents[:] = [content(b"x", headers=headers)]
    assert made.names is NAMES
    return made


def death(queue, reason="rejected", exchange="x", keys=("k",)):
    return {"queue": queue, "reason": reason, "exchange": exchange, "routing-keys": list(keys), "count": 1}


HISTORY = [death("wait", "expired", "dlx"), death("dead", "maxlen"), death("work", keys=("k", "copy"))]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "wait"),
        ({"reason": "expired"}, "wait"),
        ({"reason": "rejected"}, None),
        ({"origin": "work"}, "work"),
        ({"origin": "work", "reason": "rejected"}, "work"),
        ({"origin": "work", "reason": "expired"}, None),
        ({"origin": "nowhere"}, None),
        ({"origin": "dead"}, None),
    ],
)
def test_the_last_death_that_fits(asked, expected):
    found = Deaths("dead", **asked).of(run_with(**{"x-death": HISTORY}), 0)
    assert expected == (found and found.queue)


def test_all_of_its_keys():
    found = Deaths("dead", "work").of(run_with(**{"x-death": HISTORY}), 0)
    assert Death("work", "rejected", "x", ("k", "copy")) == found


@pytest.mark.parametrize(
    "value",
    [
        None,
        "x",
        [],
        ["x", 1],
        [{}],
        [{"queue": 1, "reason": "rejected"}],
        [{"queue": "q"}],
        [death("q", exchange="x" * 300)],
    ],
)
def test_nonsense_is_no_death(value):
    assert None is Deaths("dead").of(run_with(**{"x-death": value}), 0)
    assert None is Deaths("dead").of(make_run(b"x"), 0)


def test_without_keys_it_is_the_queues_name():
    run = run_with(**{"x-death": [{"queue": "q", "reason": "expired"}]})
    assert Death("q", "expired", "", ("q",)) == Deaths("dead").of(run, 0)


def test_equal_headers_are_one_object_and_few_are_kept():
    deaths = Deaths("dead")
    found = deaths.of(run_with(**{"x-death": HISTORY}), 0)
    assert found is deaths.of(run_with(**{"x-death": HISTORY}), 0)
    for number in range(KEPT + 5):
        deaths.of(run_with(number=number), 0)
    assert len(deaths._known) <= KEPT
