import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.routing.binding import Binding
from pybroker.core.topology.exchange_declare import (
    BROKER_USER,
    bind,
    binding_count,
    delete_exchange,
    find_exchange,
    unbind,
)
from pybroker.errors import AccessRefused, CommandInvalid, PreconditionFailed
from pybroker.wire.table import Table
from tests.topology import (
    exchange,
    link,
    names,
    new_vhost,
    queue,
    reached,
    refusal,
    refused,
    session,
    typed,
    unlink,
    wired,
)

# -- what a virtual host has ------------------------------------------------------------------------------------------


def test_a_new_virtual_host_has_rabbitmqs_exchanges():
    vhost = new_vhost()
    assert {name: (x.TYPE, x.durable, x.internal) for name, x in vhost.exchanges.items()} == {
        "": ("direct", True, False),
        "amq.direct": ("direct", True, False),
        "amq.fanout": ("fanout", True, False),
        "amq.headers": ("headers", True, False),
        "amq.match": ("headers", True, False),
        "amq.rabbitmq.event": ("topic", True, True),  # in the default virtual host alone
        "amq.rabbitmq.trace": ("topic", True, True),
        "amq.topic": ("topic", True, False),
    }
    assert {x.user for x in vhost.exchanges.values()} == {BROKER_USER}


def test_f2_every_operation_strips_its_names():
    vhost = new_vhost()
    exchange(vhost, "a\nx", "fanout")
    q = queue(vhost, "q")
    bind(vhost, None, None, "a\rx", "queue", "q\n", "k\n", Table(), BROKER)  # a routing key is no name
    assert [b.key[:4] for b in find_exchange(vhost, "ax").bindings()] == [("ax", "queue", "q", "k\n")]
    unbind(vhost, None, None, "ax\n", "queue", "q\r", "k\n", Table(), BROKER)
    assert binding_count(q) == 0
    delete_exchange(vhost, None, "ax\r", BROKER, if_unused=True)
    assert "ax" not in vhost.exchanges


# -- exchange.declare -------------------------------------------------------------------------------------------------


def test_a_declared_exchange_is_there_and_its_redeclaration_is_the_same_object():
    vhost = new_vhost()
    x = exchange(vhost, "x", "topic", wired(my=1), user=vhost.broker.users.get("guest"))
    assert (x.name, x.TYPE, x.durable, x.auto_delete, x.internal, x.user) == ("x", "topic", True, False, False, "guest")
    assert x.arguments == wired(my=1)
    assert exchange(vhost, "x", "topic", wired(my=2)) is x
    assert exchange(vhost, "x", "anything", passive=True, durable=False) is x


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"type_name": "topic"}, "'type' for exchange 'x' in vhost '/': received 'topic' but current is 'direct'"),
        ({"durable": False}, "'durable' for exchange 'x' in vhost '/': received 'false' but current is 'true'"),
        ({"auto_delete": True}, "'auto_delete' for exchange 'x' in vhost '/': received 'true' but current is 'false'"),
        ({"internal": True}, "'internal' for exchange 'x' in vhost '/': received 'true' but current is 'false'"),
        (
            {"type_name": "fanout", "durable": False},
            "'type' for exchange 'x' in vhost '/': received 'fanout' but current is 'direct'",
        ),
    ],
)
def test_f8_an_exchange_redeclared_otherwise_is_refused(changed, text):
    vhost = new_vhost()
    exchange(vhost, "x")
    assert refused(exchange, vhost, "x", **changed) == (406, f"inequivalent arg {text}")


# A17: the only argument that is compared.
@pytest.mark.parametrize(
    ("current", "received", "text"),
    [
        (wired(alternate_exchange="a"), wired(alternate_exchange="b"), "received 'b' but current is 'a'"),
        # Compared with RabbitMQ 3.10.8.
        (wired(alternate_exchange="a"), typed("alternate-exchange", "V", None), "received none but current is 'a'"),
        (
            Table(),
            wired(alternate_exchange="b"),
            "received the value 'b' of type 'longstr' but current is none",
        ),
        (
            wired(alternate_exchange="a"),
            Table(),
            "received none but current is the value 'a' of type 'longstr'",
        ),
    ],
)
def test_a17_another_alternate_is_refused(current, received, text):
    vhost = new_vhost()
    exchange(vhost, "x", arguments=current)
    assert refused(exchange, vhost, "x", arguments=received) == (
        406,
        f"inequivalent arg 'alternate-exchange' for exchange 'x' in vhost '/': {text}",
    )


def test_an_unknown_type_closes_the_connection_before_anything_else_is_looked_at():
    vhost = new_vhost()
    with pytest.raises(CommandInvalid) as error:
        exchange(vhost, "", "x-unheard-of")
    assert (error.value.hard, *refusal(error.value)) == (True, 503, "unknown exchange type 'x-unheard-of'")


def test_a_passive_declaration_of_nothing_is_404():
    vhost = new_vhost()
    assert refused(exchange, vhost, "x", passive=True) == (404, "no exchange 'x' in vhost '/'")


# A1
@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (wired(alternate_exchange=1), "signedint"),
        (typed("alternate-exchange", "V", None), "void"),
        (typed("alternate-exchange", "x", b"ae"), "binary"),
    ],
)
def test_a1_an_alternate_that_is_no_string_is_refused(arguments, kind):
    vhost = new_vhost()
    text = f"invalid type '{kind}' for arg 'alternate-exchange' in exchange 'x' in vhost '/'"
    assert refused(exchange, vhost, "x", arguments=arguments) == (406, text)
    assert "x" not in vhost.exchanges


def test_a1_an_alternate_that_is_a_string_is_the_exchanges():
    vhost = new_vhost()
    assert exchange(vhost, "x", arguments=wired(alternate_exchange="ae")).alternate == "ae"
    assert exchange(vhost, "y").alternate is None


# F3
def test_f3_reserved_exchange_names_are_refused_only_when_made():
    vhost = new_vhost()
    text = "exchange name 'amq.mine' contains reserved prefix 'amq.*'"
    assert refused(exchange, vhost, "amq.mine") == (403, text)
    assert exchange(vhost, "amq.direct") is vhost.exchanges["amq.direct"]
    assert refused(exchange, vhost, "amq.direct", "fanout")[0] == 406
    assert exchange(vhost, "amq", "fanout").name == "amq"


# A16
def test_a16_nothing_can_be_done_to_the_default_exchange():
    vhost = new_vhost()
    queue(vhost, "q")
    exchange(vhost, "x", "fanout")
    expected = (403, "operation not permitted on the default exchange")
    arguments = wired(alternate_exchange="x")
    assert refused(exchange, vhost, "", arguments=arguments) == expected
    assert refused(exchange, vhost, "", passive=True) == expected
    assert refused(exchange, vhost, "\r\n", arguments=arguments) == expected
    assert refused(delete_exchange, vhost, None, "", BROKER, if_unused=False) == expected
    for change in (link, unlink):
        assert refused(change, vhost, "", "q", "k") == expected
        assert refused(change, vhost, "", "x:x", "k") == expected
        assert refused(change, vhost, "x", "x:", "k") == expected


# -- exchange.delete --------------------------------------------------------------------------------------------------


def test_f3_predeclared_exchanges_stay():
    vhost = new_vhost()
    text = "deletion of system exchange 'amq.direct' in vhost '/' not allowed"
    assert refused(delete_exchange, vhost, None, "amq.direct", BROKER, if_unused=False) == (403, text)
    assert refused(delete_exchange, vhost, None, "amq.never", BROKER, if_unused=False)[0] == 403


def test_deleting_nothing_is_no_fault():
    delete_exchange(new_vhost(), None, "x", BROKER, if_unused=True)


def test_an_exchange_in_use_is_deleted_only_without_if_unused():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout")
    q = queue(vhost, "q")
    link(vhost, "x", "q")
    assert refused(delete_exchange, vhost, None, "x", BROKER, if_unused=True) == (
        406,
        "exchange 'x' in vhost '/' in use",
    )
    delete_exchange(vhost, None, "x", BROKER, if_unused=False)
    assert "x" not in vhost.exchanges
    assert binding_count(q) == 0
    assert vhost.bound == {}


def test_a_bound_destination_is_not_in_use():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout")
    exchange(vhost, "y", "fanout")
    link(vhost, "x", "x:y")
    delete_exchange(vhost, None, "y", BROKER, if_unused=True)
    assert not find_exchange(vhost, "x").in_use


# -- bindings ---------------------------------------------------------------------------------------------------------


def test_binding_twice_is_once_and_unbinding_nothing_is_no_fault():
    vhost = new_vhost()
    exchange(vhost, "x")
    q = queue(vhost, "q")
    link(vhost, "x", "q", "k")
    generation = vhost.generation
    link(vhost, "x", "q", "k")
    assert (binding_count(q), vhost.generation) == (1, generation)
    unlink(vhost, "x", "q", "other")
    unlink(vhost, "x", "nobody", "k")
    unlink(vhost, "nowhere", "q", "k")
    assert (binding_count(q), vhost.generation) == (1, generation)
    unlink(vhost, "x", "q", "k")
    assert binding_count(q) == 0


def test_binding_what_is_not_there_is_404_and_the_source_is_missed_first():
    vhost = new_vhost()
    exchange(vhost, "x")
    assert refused(link, vhost, "x", "q") == (404, "no queue 'q' in vhost '/'")
    assert refused(link, vhost, "x", "x:y") == (404, "no exchange 'y' in vhost '/'")
    assert refused(link, vhost, "s", "q") == (404, "no exchange 's' in vhost '/'")


def test_internal_exchanges_can_be_bound_at_both_ends():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout")
    assert exchange(vhost, "in", "fanout", internal=True).internal
    queue(vhost, "q")
    link(vhost, "x", "x:in")
    link(vhost, "in", "q")
    assert reached(vhost, "x") == ["q"]


# F27
def test_f27_an_exclusive_queue_is_bound_and_unbound_by_its_owner_only():
    vhost = new_vhost()
    mine, other = session(), session()
    q = queue(vhost, "q", owner=mine)
    for each in (other, None):
        code, text = refused(bind, vhost, None, each, "amq.direct", "queue", "q", "k", Table(), BROKER)
        assert (code, text[:66]) == (405, "cannot obtain exclusive access to locked queue 'q' in vhost '/'. I")
    bind(vhost, None, mine, "amq.direct", "queue", "q", "k", Table(), BROKER)
    assert refused(unbind, vhost, None, other, "amq.direct", "queue", "q", "k", Table(), BROKER)[0] == 405
    unbind(vhost, None, other, "amq.direct", "queue", "q", "not bound", Table(), BROKER)
    unbind(vhost, None, mine, "amq.direct", "queue", "q", "k", Table(), BROKER)
    assert binding_count(q) == 0


def test_bad_binding_arguments_are_told_before_exclusivity():
    vhost = new_vhost()
    queue(vhost, "q", owner=session())
    bad = wired(x_match="maybe")
    with pytest.raises(PreconditionFailed):
        bind(vhost, None, None, "amq.headers", "queue", "q", "", bad, BROKER)


def test_a_queue_that_goes_takes_its_bindings_along():
    vhost = new_vhost()
    q, other = queue(vhost, "q"), queue(vhost, "other")
    exchange(vhost, "once", "fanout", auto_delete=True)
    for source in ("amq.direct", "amq.fanout", "amq.topic", "amq.headers", "once"):
        link(vhost, source, "q", "k")
        if source != "once":
            link(vhost, source, "other", "k")
    assert binding_count(q) == 5
    generation = vhost.generation
    vhost.delete_queue(q)
    assert (binding_count(q), binding_count(other)) == (0, 4)
    assert "once" not in vhost.exchanges
    assert vhost.generation > generation
    assert reached(vhost, "amq.topic", "k") == ["other"]


def test_every_change_of_a_route_bumps_the_generation():
    vhost = new_vhost()
    queue(vhost, "q")
    changes = [
        lambda: exchange(vhost, "x", "fanout"),
        lambda: link(vhost, "x", "q"),
        lambda: unlink(vhost, "x", "q"),
        lambda: delete_exchange(vhost, None, "x", BROKER, if_unused=True),
    ]
    for change in changes:
        before = vhost.generation
        change()
        assert vhost.generation > before


# -- auto-delete ------------------------------------------------------------------------------------------------------


def test_an_auto_delete_exchange_goes_with_its_last_binding_and_not_before_it_had_one():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout", auto_delete=True)
    queue(vhost, "q")
    unlink(vhost, "x", "q")
    assert "x" in vhost.exchanges
    link(vhost, "x", "q", "1")
    link(vhost, "x", "q", "2")
    unlink(vhost, "x", "q", "1")
    assert "x" in vhost.exchanges
    unlink(vhost, "x", "q", "2")
    assert "x" not in vhost.exchanges


def test_bindings_that_lead_to_an_auto_delete_exchange_do_not_keep_it():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout", auto_delete=True)
    exchange(vhost, "y", "fanout", auto_delete=True)
    queue(vhost, "q")
    link(vhost, "x", "x:y")
    link(vhost, "y", "q")
    unlink(vhost, "y", "q")
    assert sorted(name for name in vhost.exchanges if name in "xy" and name) == []  # and x lost its last with y


def test_a_chain_of_ten_thousand_auto_delete_exchanges_falls_without_a_stack():
    vhost = new_vhost()
    count = 10_000
    for at in range(count):
        exchange(vhost, f"x{at}", "fanout", auto_delete=True)
    q = queue(vhost, "q")
    for at in range(count - 1):
        link(vhost, f"x{at}", f"x:x{at + 1}")
    link(vhost, f"x{count - 1}", "q")
    vhost.delete_queue(q)
    vhost.broker.removals.finish()
    assert len(vhost.exchanges) == 8
    assert vhost.bound == {}


def test_a_circle_of_auto_delete_exchanges_falls_with_one_of_them():
    vhost = new_vhost()
    for name in ("a", "b", "c"):
        exchange(vhost, name, "fanout", auto_delete=True)
    for source, destination in [("a", "x:b"), ("b", "x:c"), ("c", "x:a"), ("a", "x:a")]:
        link(vhost, source, destination)
    delete_exchange(vhost, None, "b", BROKER, if_unused=False)
    # c led to a, and still does; a's binding to b is gone, its binding to itself stays.
    assert [name for name in ("a", "b", "c") if name in vhost.exchanges] == ["a", "c"]
    delete_exchange(vhost, None, "a", BROKER, if_unused=False)
    assert [name for name in ("a", "b", "c") if name in vhost.exchanges] == []
    assert vhost.bound == {}


# A2 and the rest of the permissions are in test_authorization.py; here is their order.
def test_permissions_are_asked_before_existence():
    vhost = new_vhost()
    vhost.broker.users.add("nobody", "x")
    user = vhost.broker.users.named("nobody")
    with pytest.raises(AccessRefused) as error:
        bind(vhost, user, None, "gone", "queue", "gone too", "k", Table(), BROKER)
    assert error.value.text == "write access to queue 'gone too' in vhost '/' refused for user 'nobody'"


def test_bound_is_by_destination():
    vhost = new_vhost()
    x = exchange(vhost, "x")
    q = queue(vhost, "q")
    link(vhost, "x", "q", "k")
    key = Binding(x, q, "k", Table()).key
    assert list(vhost.bound) == [q]
    assert list(vhost.bound[q]) == [key]
    assert names(b.source for b in vhost.bound[q].values()) == ["x"]
