"""Every cell of {operation x permissions x tags x virtual host}, through the protocol; hostile names included."""

import pytest

from tests.authorization import OPERATIONS, Cell, cells, expected, normal, pattern
from tests.fakes import Basic, Channel, Connection, Queue, World
from tests.operation import ENDINGS, OK, TAGS, TOPIC_PATTERN, USER, Names, made, prepare, subsets

EVERYTHING = (".*", ".*", ".*")


class Door:
    """A broker in this process with a user whose permissions change while the connection stands."""

    def __init__(self, names: Names, tags: tuple[str, ...], vhost: str = "/") -> None:
        self.world = World()
        self.names = names
        users = self.world.broker.users
        users.add(USER, "p", tags)
        self.world.broker.add_vhost("other")
        self.grant(frozenset(), vhost)
        users.set_topic_permissions(USER, "/", names.stripped("t"), TOPIC_PATTERN, TOPIC_PATTERN)
        # Line ends or not, this exchange has one restriction.
        users.set_topic_permissions(USER, "/", names.of("t"), TOPIC_PATTERN, TOPIC_PATTERN)
        users.set_permissions(USER, "/", "", "", "")
        self.admin = self.world.connect()
        self.restore(prepare(names))
        self.peer = self.world.connect(user=USER, password="p")

    def grant(self, granted: frozenset[str], vhost: str = "/") -> None:
        """Set the user's permissions in a virtual host."""
        patterns = [pattern(granted, permission, self.names) for permission in ("configure", "write", "read")]
        self.world.broker.users.set_permissions(USER, vhost, *patterns)

    def ask(self, cell: Cell) -> tuple[int, str] | str:
        """Return what the user is answered; the channel is as new afterwards."""
        peer = self.peer
        peer.send(*cell.operation.send(cell.names))
        answers = peer.take()
        assert peer.inbox[0] == [], peer.inbox[0]
        assert len(answers) == 1, answers
        answer = answers[0]
        if isinstance(answer, Channel.Close):
            peer.send(Channel.CloseOk())
            found = answer.reply_code, answer.reply_text
        else:
            found = OK
            assert isinstance(peer.call(Channel.Close(0, "", 0, 0)), Channel.CloseOk)
            self.restore(cell.operation.undo(cell.names))
        peer.open(1)
        return normal(found)

    def restore(self, frames) -> None:
        """Have somebody do it who may."""
        for each in frames:
            answer = self.admin.call(each)
            assert not isinstance(answer, Channel.Close), answer.reply_text

    def differences(self, granted: frozenset[str], effective: frozenset[str], tags, vhost: str = "/") -> list[str]:
        """Return the cells that answer something else than the table says with the permissions `effective`."""
        self.grant(granted, vhost)
        found = []
        for cell in cells(self.names, tags):
            if cell.granted != granted:
                continue
            wanted = expected(cell.operation, effective, tags, self.names)
            got = self.ask(cell)
            if got != wanted:
                found.append(f"{cell}: {got} instead of {wanted}")
        return found


def named(tags: tuple[str, ...]) -> str:
    return "+".join(tags) or "none"


@pytest.mark.parametrize("tags", TAGS, ids=named)
def test_every_operation_with_every_set_of_permissions_and_tags(tags):
    door = Door(Names(), tags)
    assert [] == [line for granted in subsets() for line in door.differences(granted, granted, tags)]


@pytest.mark.parametrize("tags", TAGS, ids=named)
def test_permissions_in_another_virtual_host_count_for_nothing(tags):
    door = Door(Names(), tags)
    nothing = frozenset()
    assert [] == [line for granted in subsets() for line in door.differences(granted, nothing, tags, "other")]


@pytest.mark.parametrize("ending", ENDINGS[1:], ids=ascii)
def test_hostile_names_are_names(ending):
    door = Door(Names(ending), ())
    assert [] == [line for granted in subsets() for line in door.differences(granted, granted, ())]


# The permission was asked for one name, and another one was used.
def test_a_line_end_in_a_name_does_not_open_another_queue(world):
    users = world.broker.users
    users.add(USER, "p")
    users.set_permissions(USER, "/", "^[^s]", "^[^s]", "^[^s]")
    admin = world.connect()
    admin.declare("secret")
    admin.publish("", "secret", b"for others")
    peer = world.connect(user=USER, password="p")
    for name in ("secret", "\nsecret", "\rsecret"):
        for method in (Basic.Get, Basic.Consume, Queue.Purge, Queue.Delete):
            code, _ = peer.error(made(method, queue=name))
            assert code == (404 if name != "secret" and method is not Queue.Delete else 403), (name, method)
    assert [content.body for content in admin.drain("secret")] == [b"for others"]


def test_the_table_has_so_many_cells():
    each = len(OPERATIONS) * len(subsets())
    assert (len(OPERATIONS), len(subsets()), len(TAGS)) == (55, 8, 7)
    assert each * len(TAGS) * 2 + each * len(ENDINGS[1:]) == 11_000


@pytest.mark.parametrize("tags", TAGS, ids=named)
@pytest.mark.parametrize("patterns", [None, ("", "", ""), (".*", ".*", ".*")], ids=["no row", "empty", "all"])
def test_a_virtual_host_is_entered_with_permissions_there_be_they_empty(tags, patterns):
    world = World()
    world.broker.add_vhost("own")
    world.broker.users.add(USER, "p", tags)
    world.broker.users.set_permissions(USER, "own", *EVERYTHING)
    if patterns is not None:
        world.broker.users.set_permissions(USER, "/", *patterns)
    refused = (530, "NOT_ALLOWED - access to vhost '/' refused for user 'U'")
    assert [entered(world, vhost) for vhost in ("own", "/", "missing")] == [
        OK,
        refused if patterns is None else OK,
        (530, "NOT_ALLOWED - vhost missing not found"),
    ]


def entered(world: World, vhost: str) -> tuple[int, str] | str:
    """Return what connection.open answers."""
    peer = world.peer(user=USER, password="p", vhost=vhost)
    try:
        peer.shake_hands()
    except AssertionError as error:
        close = error.args[0]
        assert isinstance(close, Connection.Close), close
        return close.reply_code, close.reply_text
    return OK
