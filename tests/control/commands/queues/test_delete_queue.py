import pytest
from pamqp import commands

from pybroker.control.commands.queues.delete_queue import Args, banner
from pybroker.control.spec import Refused
from tests.control.made_stream import make_stream


def refusal(operator, **given):
    with pytest.raises(Refused) as refused:
        operator.ask("delete_queue", **given)
    return refused.value.exit_code, refused.value.text


def test_the_queue_goes_and_its_consumers_are_told(operator, peer):
    peer.declare("q")
    peer.publish("", "q")
    peer.publish("", "q")
    answer = operator.ask("delete_queue", queue_name="q")
    assert answer == "Queue was successfully deleted with 2 ready messages"
    assert operator.list("list_queues") == []
    peer.declare("q")
    tag = peer.consume("q")
    operator.ask("delete_queue", queue_name="q")
    cancel = peer.next()
    assert isinstance(cancel, commands.Basic.Cancel)
    assert cancel.consumer_tag == tag


def test_messages_of_a_stream_are_counted(operator, world, peer):
    make_stream(world)
    peer.publish("", "s")
    peer.publish("", "s")
    assert operator.ask("delete_queue", queue_name="s") == "Queue was successfully deleted with 2 ready messages"


def test_conditions_that_are_not_met(operator, peer):
    peer.declare("q")
    peer.publish("", "q")
    assert refusal(operator, queue_name="q", if_empty=True) == (64, "The queue is not empty")
    peer.consume("q")
    assert refusal(operator, queue_name="q", if_unused=True) == (64, "The queue is in use")
    assert operator.list("list_queues", "name") == ["q"]


def test_names_that_do_not_exist(operator, peer):
    peer.declare("orders")
    expected = (65, "queue 'order' was not found in virtual host '/'. Did you mean 'orders'?")
    assert refusal(operator, queue_name="order") == expected
    assert refusal(operator, queue_name="orders", vhost="v")[0] == 65
    assert refusal(operator, queue_name="") == (65, "queue name cannot be an empty string")


def test_the_banner_says_under_which_conditions():
    assert banner(Args("q")) == "Deleting queue '{queue_name}' on vhost '{vhost}' ..."
    both = "Deleting queue '{queue_name}' on vhost '{vhost}' if queue is empty and if queue is unused ..."
    assert banner(Args("q", if_empty=True, if_unused=True)) == both
