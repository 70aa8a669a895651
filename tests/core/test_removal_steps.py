"""The steps of a removal; in which shares they are done is test_removal.py's business."""

from topology import exchange, link, new_vhost, queue

from pybroker.core.cause import because
from pybroker.core.removal import Removal
from pybroker.core.removal_steps import drop_bindings, drop_exchanges, remove_owned


def test_each_binding_is_a_step_and_what_is_left_unused_goes_behind_them():
    vhost = new_vhost()
    exchange(vhost, "once", "fanout", auto_delete=True)
    made = queue(vhost, "q")
    for source in ("amq.direct", "once", "amq.topic"):
        link(vhost, source, "q", "k")
    removal = Removal(because("a test"))
    steps = drop_bindings(vhost, list(vhost.bound[made].values()), removal)
    for left in (2, 1, 0):
        next(steps)
        assert left == len(vhost.bound.get(made, ()))
        assert "once" in vhost.exchanges
    assert [] == list(steps)
    assert "once" not in vhost.exchanges
    assert {"binding", "exchange"} == {kind for kind, _ in removal.rows}
    assert [("exchange", "once")] == [name for _, name in removal.held]


def test_a_binding_that_went_with_its_other_end_is_no_step():
    vhost = new_vhost()
    x = exchange(vhost, "x", "fanout")
    made = queue(vhost, "q")
    link(vhost, "x", "q")
    first, second = Removal(because("one")), Removal(because("the other"))
    bindings = list(vhost.bound[made].values())
    assert 1 == len(list(drop_exchanges(vhost, [x], x, first)))
    assert [] == list(drop_bindings(vhost, bindings, second))
    assert {} == second.rows


def test_a_queue_that_is_gone_already_is_passed_over():
    vhost = new_vhost()
    gone, other = queue(vhost, "gone"), queue(vhost, "other")
    vhost.delete_queue(gone)
    cause = because("a test")
    list(remove_owned([gone], cause, [gone, other], Removal(cause)))
    assert {} == vhost.queues
