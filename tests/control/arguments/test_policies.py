"""A policy command answers when the change is in force for everything; JSON is as RabbitMQ's listings have it."""

from pybroker.control.arguments.policies import as_json
from pybroker.core.topology.policies import TURN_COST


def test_it_answers_when_the_last_queue_is_under_it(operator, peer):
    for number in range(TURN_COST):
        peer.declare(f"q{number}")
    broker = operator.world.broker

    class Pause(list):
        def append(self, seconds):
            super().append(seconds)
            broker.pump()

    operator.pauses = Pause()
    operator.ask("set_policy", name="p", pattern="", definition='{"max-length":1}')
    assert operator.pauses
    done = [step.done for step in operator.steps]
    assert sorted(done) == done
    assert {"p"} == set(operator.list("list_queues", "policy"))


def test_json_is_as_rabbitmq_lists_it():
    assert '{"a":[1,null,"ä"]}' == as_json({"a": [1, None, "ä"]})
