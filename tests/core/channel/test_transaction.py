"""The contents of a transaction, and their limit."""

import pytest

from pybroker.core.channel.transaction import TX_OCTETS_MAX, Transaction
from pybroker.core.routing.publish import Contents, Route, names_of
from pybroker.errors import PreconditionFailed
from pybroker.run import PLAIN_ATTRIBUTES
from tests.contents import content
from tests.readers import Bench, seqs

ROUTE = Route(1, names_of("", "q"), mandatory=False, immediate=False)


def contents(octets: int) -> Contents:
    return Contents(PLAIN_ATTRIBUTES, [content()], octets, 0, 0)


def test_publishes_are_kept_in_order():
    transaction = Transaction()
    first, second = contents(1), contents(2)
    transaction.publish(ROUTE, first, ())
    transaction.publish(ROUTE, second, ())
    assert [(ROUTE, first, ()), (ROUTE, second, ())] == transaction.publishes
    assert 3 == transaction.octets


def test_it_holds_as_much_as_one_group_of_the_log_and_no_octet_more():
    transaction = Transaction()
    transaction.publish(ROUTE, contents(TX_OCTETS_MAX - 1), ())
    transaction.publish(ROUTE, contents(1), ())
    with pytest.raises(PreconditionFailed) as caught:
        transaction.publish(ROUTE, contents(1), ())
    assert f"transaction is larger than {TX_OCTETS_MAX} octets: commit more often" == caught.value.text
    assert 2 == len(transaction.publishes)


def test_everything_acknowledged_or_rejected_waits_for_the_commit():
    bench = Bench()
    reader = bench.reader()
    bench.flood(6)
    bench.turn()
    transaction = Transaction()
    for what, tag in (("ack", 2), ("reject", 3), ("requeue", 5)):
        transaction.acks.append((what, reader.channel.unacked.pop_up_to(tag) or []))
    assert [1, 2, 3, 4, 5] == seqs(transaction.taken())
    reader.channel.unacked.put_back(transaction.taken())
    assert [1, 2, 3, 4, 5, 6] == seqs(reader.channel.unacked)
