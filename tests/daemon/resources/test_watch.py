"""The greenlet of a monitor, with time in the test's hand."""

import pytest

from pybroker.daemon.resources.watch import Watch
from tests.fakes import World


class Enough(BaseException):
    pass


class Clock:
    """Stands in for the event: time is over at once, as often as the test says; `changes` are waits that are cut."""

    def __init__(self, waits, changes=()):
        self.pauses = []
        self.waits = waits
        self.changes = changes
        self.sets = 0

    def wait(self, seconds):
        self.pauses.append(seconds)
        if len(self.pauses) > self.waits:
            raise Enough
        return len(self.pauses) in self.changes

    def set(self):
        self.sets += 1

    def clear(self):
        pass


class Weather(Watch):
    """Looks more seldom each time; the second look fails."""

    WHAT = "weather"

    def __init__(self, broker):
        super().__init__(broker)
        self.looks = 0

    @property
    def pause_ms(self):
        return 100 * (self.looks + 1)

    def check(self):
        self.looks += 1
        self.looked()
        if self.looks == 2:
            raise OSError("fog")


def watched(waits, **more):
    weather = Weather(World().broker)
    weather._changed = Clock(waits, **more)
    with pytest.raises(Enough):
        weather.run()
    return weather


def test_it_looks_whenever_the_pause_that_the_last_look_asked_for_is_over():
    assert watched(waits=1)._changed.pauses == [0.1, 0.2]


def test_a_look_that_fails_is_logged_and_not_the_last(caplog):
    weather = watched(waits=3)
    assert weather.looks == 3
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["the weather could not be measured"]


def test_who_looks_in_between_changes_when_the_next_look_is_due():
    weather = watched(waits=3, changes=(1, 3))
    assert weather.looks == 1
    assert weather._changed.sets == 1
