import pytest
from pamqp import commands

from pybroker.control.spec import BadArguments, Refused

Exchange = commands.Exchange


@pytest.fixture
def waiting(operator, peer):
    """Three messages wait in x; return their ids."""
    arguments = {"x-delayed-type": "fanout"}
    peer.call(Exchange.Declare(exchange="x", exchange_type="x-delayed-message", arguments=arguments))
    for key, delay in (("mail.1", 10_000), ("mail.2", 20_000), ("call", 30_000)):
        peer.publish("x", key, headers={"x-delay": delay})
    return operator.list("list_scheduled", "id")


def left(operator):
    return operator.list("list_scheduled", "routing_key")


def test_by_id(operator, waiting):
    answer = operator.ask("cancel_scheduled", exchange="x", ids=[str(waiting[1])])
    assert ("1 message cancelled", 1, ["mail.1", "call"]) == (answer["message"], answer["messages"], left(operator))


def test_an_id_that_is_not_there_cancels_nothing(operator, waiting):
    with pytest.raises(Refused) as refused:
        operator.ask("cancel_scheduled", exchange="x", ids=[str(waiting[1]), "999"])
    expected = (65, "no message with id 999 is scheduled in exchange 'x'")
    assert expected == (refused.value.exit_code, refused.value.text)
    assert 3 == len(left(operator))


def test_by_routing_key(operator, waiting):
    answer = operator.ask("cancel_scheduled", exchange="x", routing_key="^mail[.]")
    assert ("2 messages cancelled", ["call"]) == (answer["message"], left(operator))
    with pytest.raises(Refused, match="'\\(' is not a valid regular expression: "):
        operator.ask("cancel_scheduled", exchange="x", routing_key="(")


def test_all_of_them(operator, waiting, world):
    assert (
        "3 messages would be cancelled"
        == operator.ask("cancel_scheduled", exchange="x", everything=True, dry_run=True)["message"]
    )
    assert 3 == len(left(operator))
    assert "3 messages cancelled" == operator.ask("cancel_scheduled", exchange="x", everything=True)["message"]
    assert [] == left(operator)
    world.advance(60_000)
    assert 0 == world.broker.totals.total("dropped")


@pytest.mark.parametrize(
    "given", [{}, {"ids": ["1"], "everything": True}, {"routing_key": "a", "everything": True}, {"ids": ["x1"]}]
)
def test_it_has_to_be_said_which_ones(operator, given):
    with pytest.raises(BadArguments):
        operator.ask("cancel_scheduled", exchange="x", **given)


def test_it_waits_for_the_disk(operator, waiting, world, monkeypatch):
    log = world.broker.log
    monkeypatch.setattr(type(log), "commit_position", 5)
    log.failed = "it burns"
    with pytest.raises(Refused) as refused:
        operator.ask("cancel_scheduled", exchange="x", ids=[str(waiting[0])])
    expected = (69, "the messages may reappear after a crash: it burns")
    assert expected == (refused.value.exit_code, refused.value.text)
    log.failed = ""
    with pytest.raises(Refused, match="did not sync within 10 seconds"):
        operator.ask("cancel_scheduled", exchange="x", ids=[str(waiting[1])])
    log.completed = 5
    assert "1 message cancelled" == operator.ask("cancel_scheduled", exchange="x", ids=[str(waiting[2])])["message"]
