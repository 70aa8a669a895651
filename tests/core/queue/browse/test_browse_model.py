"""A browse beside everything else that happens to a queue, against plain lists.

A story's steps happen between the windows of a browse; whatever stays in the queue all the while is shown, once, in its
place, and nothing is shown that was never there.
"""

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test

from pybroker.core.queue.browse import window
from pybroker.core.queue.browse.browse import browse
from pybroker.core.queue.browse.browsed import READY, UNACKNOWLEDGED
from tests.core.paged import Pages, shrink
from tests.core.test_eviction_model import LIMITS, PATTERNS, DiskWorld, EvictionMachine
from tests.core.test_queue_model import QUICK

BOTH = (READY, UNACKNOWLEDGED)


class PagedWorld(DiskWorld):
    """Memory may be short as well."""

    def __init__(self):
        super().__init__()
        self.pages = Pages(self.broker)

    def run(self):
        super().run()
        while self.pages.step():
            super().run()


class BrowseMachine(EvictionMachine):
    """The same stories, with somebody who looks on."""

    shown = 0  # in all stories

    def new_world(self):
        return PagedWorld()

    @initialize(limits=LIMITS, pattern=st.sampled_from(sorted(PATTERNS)))
    def begin(self, limits, pattern):
        self.browses = []
        super().begin(limits, pattern)

    def order_of(self, held):
        return (-held.priority, held.number)

    def here(self, states):
        """Return what is in the queue: number -> place."""
        found = list(self.model.ready) if READY in states else []
        if UNACKNOWLEDGED in states:
            found += [held for tags in self.model.unacked.values() for held, _ in tags.values()]
        return {held.number: self.order_of(held) for held in found}

    @rule()
    def run_short(self):
        self.world.pages.short()
        self.world.run()

    @rule(backwards=st.booleans(), states=st.sampled_from([BOTH, (READY,)]))
    def start(self, backwards, states):
        if len(self.browses) < 3:
            steps = browse(
                self.queue,
                pause=lambda _: None,
                start="tail" if backwards else "head",
                states=states,
            )
            here = self.here(states)
            self.browses.append(Look(steps, states, backwards, dict(here), dict(here)))

    @precondition(lambda self: self.browses)
    @rule(data=st.data(), count=st.integers(1, 5))
    def go_on(self, data, count):
        look = data.draw(st.sampled_from(self.browses))
        for _ in range(count):
            if self.advance(look):
                return

    def advance(self, look):
        """Have one more message; True at the end."""
        for message in look.steps:
            if message is None:
                self.world.run()
                continue
            number = int(message.body.split(b":")[0])
            assert number in look.ever, "it was never there"
            place = look.ever[number]
            assert not look.shown or (look.shown[-1][0] < place) != look.backwards, "out of order, or twice"
            look.shown.append((place, number))
            assert message.priority == -place[0]
            BrowseMachine.shown += 1
            return False
        assert {*look.always} <= {number for _, number in look.shown}, "missed"
        self.browses.remove(look)
        return True

    @invariant()
    def what_leaves_need_not_be_shown(self):
        for look in getattr(self, "browses", ()):
            here = self.here(look.states)
            look.always = {number: place for number, place in look.always.items() if number in here}
            look.ever |= here

    @invariant()
    def all_of_it_is_shown_at_once(self):
        if not hasattr(self, "queue") or self.browses:
            return
        for backwards in (False, True):
            shown = []
            for message in browse(self.queue, pause=lambda _: self.world.run(), states=BOTH, backwards=backwards):
                if message is not None:
                    shown.append((message.state, int(message.body.split(b":")[0]), message.deliveries))
            expected = sorted(
                [(self.order_of(held), READY, held) for held in self.model.ready]
                + [
                    (self.order_of(held), UNACKNOWLEDGED, held)
                    for tags in self.model.unacked.values()
                    for held, _ in tags.values()
                ],
                key=lambda each: each[0],
                reverse=backwards,
            )
            assert [(state, held.number, held.deliveries) for _, state, held in expected] == shown

    def teardown(self):
        for look in [*getattr(self, "browses", ())]:
            while not self.advance(look):
                pass
        super().teardown()


class Look:
    """A browse under way: what it has shown, what was there all the while, and what ever was."""

    def __init__(self, steps, states, backwards, always, ever):
        self.steps, self.states, self.backwards = steps, states, backwards
        self.always, self.ever = always, ever
        self.shown = []


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 3)
    monkeypatch.setattr(window, "WINDOW_OCTETS", 60)


def test_a_browse_shows_what_stays_once_and_in_its_place():
    BrowseMachine.shown = 0
    for _ in range(5):  # one time in fifty hardly anybody looks on
        run_state_machine_as_test(BrowseMachine, settings=settings(QUICK, max_examples=25))
        if BrowseMachine.shown > 10:
            return
    raise AssertionError("nobody looked on")


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_browse_does_so_in_two_thousand_stories():
    run_state_machine_as_test(BrowseMachine, settings=settings(QUICK, max_examples=2_000, stateful_step_count=50))
