"""Other policies, arguments and operator policies that decide instead of a policy."""

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.policy.policy import OPERATOR, USER
from tests.fakes import Exchange, World


@pytest.fixture
def world():
    world = World()
    world.peer_ = world.connect()
    return world


def put(world, name, definition, priority=0, component=USER, pattern="."):
    value = {"pattern": pattern, "definition": definition, "priority": priority, "apply-to": "all"}
    world.broker.parameters.set("/", component, name, value, BROKER)


def found(world, name, component=USER):
    precedence = world.broker.policies.precedence("/", component, name)
    for noun in (*world.vhost.queues.values(), *world.vhost.exchanges.values()):
        precedence.add(noun)
    return precedence.sentences()


def test_nothing_precedes_a_policy_that_is_alone(world):
    world.peer_.declare("q", arguments={"x-max-length": 9})
    put(world, "p", {"max-length": 5, "expires": 60_000}, pattern="^q")
    assert found(world, "p") == []
    assert found(world, "unknown") == []


def test_one_with_a_higher_priority_does(world):
    for name in ("q1", "q2", "other"):
        world.peer_.declare(name)
    put(world, "high", {"max-length": 5}, 2, pattern="^q")
    put(world, "low", {"max-length": 9}, 1, pattern="^(q|amq.direct)")
    assert found(world, "low") == ["policy 'high' (priority 2) precedes it for 2 queues, such as 'q1'"]
    assert found(world, "high") == []


@pytest.mark.parametrize(
    ("argument", "definition", "expected"),
    [
        (
            {"x-max-length": 3},
            {"max-length": 5},
            "the argument x-max-length precedes its max-length for 1 queue: 'q' (3)",
        ),
        (
            {"x-overflow": "reject-publish"},
            {"overflow": "drop-head"},
            "the argument x-overflow precedes its overflow for 1 queue: 'q' (reject-publish)",
        ),
    ],
)
def test_an_argument_does_where_it_counts(world, argument, definition, expected):
    world.peer_.declare("q", arguments=argument)
    put(world, "p", definition, pattern="^q$")
    assert found(world, "p") == [expected]


def test_an_operator_policy_does(world):
    world.peer_.declare("q")
    put(world, "o", {"max-length": 2}, component=OPERATOR, pattern="^q$")
    put(world, "p", {"max-length": 5}, pattern="^q$")
    assert found(world, "p") == ["operator policy 'o' precedes its max-length for 1 queue: 'q' (2)"]
    assert found(world, "o", OPERATOR) == []


def test_so_does_an_exchanges_argument(world):
    world.peer_.call(Exchange.Declare(exchange="x", exchange_type="fanout", arguments={"alternate-exchange": "a"}))
    put(world, "p", {"alternate-exchange": "b"}, pattern="^x$")
    assert found(world, "p") == [
        "the argument alternate-exchange precedes its alternate-exchange for 1 exchange: 'x' (a)"
    ]


@pytest.mark.parametrize("component", [USER, OPERATOR])
def test_no_argument_precedes_a_streams_policy(world, component):
    world.peer_.declare("q", arguments={"x-queue-type": "stream", "x-max-length-bytes": 3}, durable=True)
    put(world, "p", {"max-length-bytes": 5}, component=component, pattern="^q")
    assert found(world, "p", component) == []
    assert world.vhost.queues["q"].limits.octets_max == 5
