"""Of a group one consumer is active at most, whatever comes, goes and answers when."""

from random import Random

from pybroker.core.stream.group import Group, Groups


class Consumer:
    """Notes what it was asked; answers when told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.active = False
        self.asked: list[str] = []

    def activate(self) -> None:
        assert not self.active
        self.active = True
        self.asked.append("begin")

    def step_down(self) -> None:
        self.asked.append("stop")

    def answer(self, group: Group) -> None:
        self.active = False
        group.stepped_down(self)

    def __repr__(self) -> str:
        return self.name


def consumers(*names):
    return [Consumer(name) for name in names]


def joined(partition, *members):
    group = Group(partition)
    for member in members:
        group.join(member)
    return group


def test_the_first_one_is_active_until_it_goes():
    a, b, c = consumers("a", "b", "c")
    group = joined(None, a, b, c)
    assert (group.active, b.asked, c.asked) == (a, [], [])
    group.leave(a)
    assert (group.active, b.asked) == (b, ["begin"])
    group.leave(c)
    group.leave(b)
    assert (group.active, group.members) == (None, [])


def test_partitions_spread_over_the_members():
    a, b = consumers("a", "b")
    zero, one = joined(0, a), joined(1, b)
    assert (zero.active, one.active) == (a, b)
    group = joined(1, *consumers("c"))
    c = group.active
    d, *_ = consumers("d")
    group.join(d)
    assert (group.active, c.asked, d.asked) == (None, ["begin", "stop"], [])
    c.answer(group)
    assert (group.active, d.asked) == (d, ["begin"])


def test_one_that_goes_while_it_steps_down_is_not_waited_for():
    a, b = consumers("a", "b")
    group = joined(1, a, b)
    assert group.stepping_down is a
    group.leave(a)
    assert (group.active, group.stepping_down) == (b, None)


def test_one_that_comes_back_into_its_place_begins_again():
    a, b = consumers("a", "b")
    group = joined(1, a, b)
    group.leave(b)
    a.answer(group)
    assert (group.active, a.asked) == (a, ["begin", "stop", "begin"])


def test_never_two_are_active_at_random():
    for seed in range(200):
        random = Random(seed)
        group = Group(random.choice([None, 0, 1, 2, 5]))
        everybody: list[Consumer] = []
        for number in range(60):
            step = random.random()
            if step < 0.4:
                everybody.append(Consumer(str(number)))
                group.join(everybody[-1])
            elif step < 0.6 and everybody:
                gone = everybody.pop(random.randrange(len(everybody)))
                gone.active = False
                group.leave(gone)
            elif group.stepping_down is not None:
                group.stepping_down.answer(group)
            assert sum(each.active for each in everybody) <= 1
        while group.stepping_down is not None:
            group.stepping_down.answer(group)
        assert sum(each.active for each in everybody) == bool(everybody)
        if everybody and group.partition is not None:
            assert group.active is group.members[group.partition % len(group.members)]


def test_groups_are_known_by_stream_and_name():
    groups, (a, b) = Groups(), consumers("a", "b")
    stream, other = object(), object()
    groups.group(stream, "g").join(a)
    groups.group(other, "g").join(b)
    assert a.active
    assert b.active
    assert [(found, name) for found, name, _ in groups] == [(stream, "g"), (other, "g")]
    groups.leave(stream, "g", a)
    assert groups.find(stream, "g") is None
    assert groups.find(other, "g").active is b
