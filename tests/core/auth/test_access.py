import pytest

from pybroker.core.auth.access import (
    check_exclusive_access,
    check_link,
    check_not_default,
    check_reserved,
    find_accessible_queue,
    find_queue,
    not_found,
    strip_line_ends,
)
from pybroker.errors import NotFound, ResourceLocked
from pybroker.wire.table import Table
from tests.topology import new_vhost, queue, refused, session, typed, wired


# F2
@pytest.mark.parametrize(("name", "stripped"), [("a\r\nb\n", "ab"), ("\r", ""), ("plain", "plain"), ("", "")])
def test_f2_line_ends_are_taken_out_of_names(name, stripped):
    assert strip_line_ends(name) == stripped


def test_what_is_not_there_is_404():
    vhost = new_vhost()
    expected = (404, "no queue 'q' in vhost '/'")
    assert refused(find_queue, vhost, "q") == expected
    assert refused(find_accessible_queue, vhost, None, "q") == expected
    assert not_found("exchange", "x", vhost).text == "no exchange 'x' in vhost '/'"


# F27: for passive declarations, too.
def test_f27_an_exclusive_queue_is_its_owners():
    vhost = new_vhost()
    me, other = session(), session()
    q = queue(vhost, "q", durable=False, owner=me)
    check_exclusive_access(q, me)
    assert find_accessible_queue(vhost, me, "q") is q
    with pytest.raises(NotFound):  # by its very name
        find_accessible_queue(vhost, me, "q\n")
    for each in (other, None):
        with pytest.raises(ResourceLocked):
            check_exclusive_access(q, each)
        with pytest.raises(ResourceLocked):
            find_accessible_queue(vhost, each, "q")
    check_exclusive_access(queue(vhost, "shared"), other)


# F3
def test_f3_only_the_prefix_with_its_dot_is_reserved():
    for name in ("amq", "amqp.q", "Amq.q", "q.amq."):
        check_reserved("queue", name)
    assert refused(check_reserved, "queue", "amq.") == (403, "queue name 'amq.' contains reserved prefix 'amq.*'")


# A16
def test_a16_the_default_exchange_is_the_one_without_a_name():
    check_not_default("amq.default")
    assert refused(check_not_default, "") == (403, "operation not permitted on the default exchange")


# A1: a name that is not UTF-8 comes as octets, and no exchange can have it.
@pytest.mark.parametrize("value", [typed("k", "S", b"\xff"), wired(k=1), wired(k=None)])
def test_a1_what_messages_are_handed_on_to_is_named_by_a_string(value):
    code, text = refused(check_link, new_vhost(), None, "queue", "q", value, "k")
    assert (code, text.endswith("for arg 'k' in queue 'q' in vhost '/'")) == (406, True)


def test_without_the_argument_there_is_nothing_to_check():
    check_link(new_vhost(), None, "queue", "q", Table(), "k")
