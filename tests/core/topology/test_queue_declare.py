import re

import pytest

from pybroker.core.auth.access import find_accessible_queue
from pybroker.core.topology.queue_declare import QueueProperties, check_queue_declare
from pybroker.errors import ResourceLocked
from pybroker.wire.table import Table
from tests.topology import new_vhost, queue, refused, session, wired


def declare(vhost, name="", **options):
    """Check a queue.declare as a door does."""
    properties = {"durable": True, "exclusive": False, "auto_delete": False, "arguments": Table(), **options}
    user, session = properties.pop("user", None), properties.pop("session", None)
    return check_queue_declare(vhost, user, session, name, QueueProperties(**properties))


# F3: before the look-up, so that an existing one cannot be redeclared either.
def test_f3_reserved_queue_names_are_refused_even_if_the_queue_exists():
    vhost = new_vhost()
    expected = (403, "queue name 'amq.foo' contains reserved prefix 'amq.*'")
    assert refused(declare, vhost, "amq.foo") == expected
    q = queue(vhost, "amq.foo")
    assert refused(declare, vhost, "amq.foo") == expected
    assert find_accessible_queue(vhost, None, "amq.foo") is q


# F4
def test_f4_the_server_makes_up_names():
    vhost = new_vhost()
    made = {declare(vhost)[0] for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"amq\.gen-[A-Za-z0-9_-]{22}", name) for name in made)
    assert declare(vhost, "\r\n")[0].startswith("amq.gen-")


def test_f4_only_classic_queues_are_named_by_the_server():
    expected = (406, "Cannot declare a server-named queue for type rabbit_quorum_queue")
    assert refused(declare, new_vhost(), "", arguments=wired(x_queue_type="quorum")) == expected


# F7: a durable exclusive declaration meets the transient queue that it made.
def test_f7_exclusive_wins_over_durable():
    vhost = new_vhost()
    me = session()
    q = queue(vhost, "q", durable=False, owner=me)
    assert declare(vhost, "q", durable=True, exclusive=True, session=me) == ("q", q)
    assert declare(vhost, "q", durable=False, exclusive=True, session=me) == ("q", q)


# F8
def test_f8_an_equal_redeclaration_finds_the_queue_and_checks_no_values_again():
    vhost = new_vhost()
    q = queue(vhost, "q", wired(x_max_length=1))
    assert declare(vhost, "q", arguments=wired(x_max_length=1, x_other="kept")) == ("q", q)
    code, text = refused(declare, vhost, "q", arguments=wired(x_max_length=-1))
    assert (code, text) == (
        406,
        "inequivalent arg 'x-max-length' for queue 'q' in vhost '/': received '-1' but current is '1'",
    )


# F10: at creation; the dead letter exchange's type is looked at before all other arguments.
def test_f10_arguments_are_checked_when_a_queue_is_made():
    vhost = new_vhost()
    code, text = refused(declare, vhost, "q", arguments=wired(x_max_length=-1, x_dead_letter_exchange=1))
    assert (code, text) == (
        406,
        "invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue 'q' in vhost '/'",
    )
    assert refused(declare, vhost, "q", arguments=wired(x_max_length=-1))[0] == 406


# F23, F28
def test_f23_f28_quorum_queues_are_durable_and_not_exclusive():
    vhost = new_vhost()
    quorum = wired(x_queue_type="quorum")
    assert declare(vhost, "q", arguments=quorum) == ("q", None)
    assert refused(declare, vhost, "q", durable=False, arguments=quorum) == (
        406,
        "invalid property 'non-durable' for queue 'q' in vhost '/'",
    )
    assert refused(declare, vhost, "q", exclusive=True, session=session(), arguments=quorum) == (
        406,
        "invalid property 'exclusive-owner' for queue 'q' in vhost '/'",
    )


# F42: no race with an owner that is dead and does not know it.
def test_f42_a_dead_owner_goes_before_its_queue_is_declared_anew():
    vhost = new_vhost()
    dead, me = session(alive=False), session()
    dead.queues.append(queue(vhost, "q", durable=False, owner=dead))
    assert declare(vhost, "q", exclusive=True, session=me) == ("q", None)
    assert len(dead.gone) == 1


def test_f42_only_an_exclusive_declaration_asks_for_the_peer():
    vhost = new_vhost()
    dead = session(alive=False)
    queue(vhost, "q", durable=False, owner=dead)
    assert refused(declare, vhost, "q", session=session())[0] == 405
    assert dead.gone == []


# F27
def test_f27_an_exclusive_queue_cannot_be_declared_by_others_nor_otherwise_by_its_owner():
    vhost = new_vhost()
    me, other = session(), session()
    queue(vhost, "q", durable=False, owner=me)
    for call in (
        lambda: declare(vhost, "q", exclusive=True, session=other),
        lambda: declare(vhost, "q", durable=False, session=other),
        lambda: declare(vhost, "q", durable=False, session=me),
    ):
        with pytest.raises(ResourceLocked):
            call()
    assert (me.gone, other.gone) == ([], [])


# F2
def test_f2_line_ends_are_taken_out_of_a_declared_name():
    assert declare(new_vhost(), "q\r\n") == ("q", None)


def test_the_reserved_prefix_is_looked_at_before_permissions():
    vhost = new_vhost()
    vhost.broker.users.add("nobody", "x")
    user = vhost.broker.users.named("nobody")
    assert refused(declare, vhost, "amq.q", user=user)[1].startswith("queue name 'amq.q'")
    assert refused(declare, vhost, "q", user=user)[1].startswith("configure access to queue 'q'")


def test_f43_a_vhosts_default_type_is_that_of_durable_queues_which_do_not_say():
    vhost = new_vhost()
    vhost.default_queue_type = "quorum"
    for options, expected in (
        ({}, "quorum"),
        ({"arguments": wired(x_queue_type="classic")}, "classic"),
        ({"durable": False}, "classic"),
        ({"exclusive": True}, "classic"),
        ({"auto_delete": True}, "classic"),
    ):
        arguments = options.setdefault("arguments", Table())
        declare(vhost, "q", **options)
        assert (arguments["x-queue-type"], arguments.type_of("x-queue-type")) == (expected, "S")


@pytest.mark.parametrize(("own", "expected"), [("", "quorum"), ("classic", "classic")])
def test_f43_the_nodes_default_type_counts_where_the_vhost_has_none(own, expected):
    vhost = new_vhost()
    vhost.broker.settings.default_queue_type = "quorum"
    vhost.default_queue_type = own
    arguments = Table()
    declare(vhost, "q", arguments=arguments)
    assert arguments["x-queue-type"] == expected


def test_f43_without_a_default_nothing_is_added():
    arguments = Table()
    declare(new_vhost(), "q", arguments=arguments)
    assert arguments == {}


def test_f43_a_name_made_up_by_the_server_is_refused_for_it_too():
    vhost = new_vhost()
    vhost.default_queue_type = "quorum"
    expected = (406, "Cannot declare a server-named queue for type rabbit_quorum_queue")
    assert refused(declare, vhost, "") == expected
