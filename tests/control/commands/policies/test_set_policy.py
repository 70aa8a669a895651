"""A policy is set with RabbitMQ's checks and texts, and counts at once."""

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments, Refused

APPLY_TO = (
    "apply-to 'foo' unrecognised; should be one of: 'queues', 'classic_queues',  'quorum_queues', "
    "'streams', 'exchanges', or 'all'"
)
GIVEN = {"name": "p", "pattern": "^q", "definition": '{"max-length":2}'}


def refusal(operator, **given):
    with pytest.raises(Refused) as refused:
        operator.ask("set_policy", **GIVEN | given)
    return refused.value.exit_code, refused.value.text


def test_it_counts_at_once_for_what_is_there_and_what_comes(operator, peer):
    peer.declare("q1")
    for _ in range(5):
        peer.publish("", "q1")
    assert None is operator.ask("set_policy", **GIVEN)
    peer.declare("q2")
    peer.declare("other")
    rows = operator.list("list_queues", "name", "policy", "messages", "effective_policy_definition")
    ruled = [["max-length", "signedint", 2]]
    assert [["q1", "p", 2, ruled], ["q2", "p", 0, ruled], ["other", "", 0, []]] == rows


def test_the_same_name_again_replaces_it(operator, peer):
    peer.declare("q")
    operator.ask("set_policy", **GIVEN)
    operator.ask("set_policy", **GIVEN | {"pattern": "^x"})
    assert [["", 0]] == operator.list("list_queues", "policy", "messages")
    assert [["p", "^x"]] == [row[1:3] for row in operator.list("list_policies")]


def test_where_several_fit_the_highest_priority_counts(operator, peer):
    peer.declare("q")
    for name, priority in (("low", -1), ("high", 2), ("middle", 0)):
        operator.ask("set_policy", **GIVEN | {"name": name, "priority": priority})
    assert ["high"] == operator.list("list_queues", "policy")


@pytest.mark.parametrize(
    ("given", "reasons"),
    [
        ({"definition": "{}"}, ["no policy provided"]),
        ({"definition": "[]"}, ["no policy provided"]),
        ({"definition": '{"max-length":-1}'}, ["-1 is not a valid maximum length"]),
        ({"definition": '{"max-length":"a","expires":0}'}, ["0 is not a valid queue expiry"]),
        ({"definition": '{"alternate-exchange":5}'}, ["5 is not a valid alternate exchange name"]),
        (
            {"definition": '{"nope":10,"n2":"x","n3":{"a":1}}'},
            ['[{<<"n2">>,<<"x">>},{<<"n3">>,#{<<"a">> => 1}},{<<"nope">>,10}] are not recognised policy settings'],
        ),
        (
            {"definition": '{"max-length":-1,"nope":1}', "apply_to": "foo", "pattern": "("},
            [
                "-1 is not a valid maximum length",
                APPLY_TO,
                "pattern should be regular expression but is invalid: missing ): (",
            ],
        ),
    ],
)
def test_what_is_no_policy_is_refused_with_rabbitmqs_text(operator, given, reasons):
    assert (69, "\n".join(["Validation failed\n", *reasons])) == refusal(operator, **given)
    assert [] == operator.list("list_policies")


@pytest.mark.parametrize("text", ['{"a":', "", "nonsense", "[" * 100_000, '{"max-length":NaN}', '"\\ud800"'])
def test_what_is_no_json_is_refused(operator, text):
    code, said = refusal(operator, definition=text)
    assert (69, True) == (code, said.startswith("JSON decoding error. Reason: "))


def test_unknown_virtual_hosts_are_refused(operator):
    assert (65, "Virtual host 'v' does not exist") == refusal(operator, vhost="v")


def test_a_priority_is_a_number(operator):
    with pytest.raises(BadArguments):
        operator.ask("set_policy", **GIVEN | {"priority": "x"})


def test_keys_without_effect_are_taken_and_said_to_have_none(operator):
    definition = '{"ha-mode":"all","max-length":5,"ha-sync-mode":"automatic"}'
    said = operator.ask("set_policy", **GIVEN | {"definition": definition})
    assert ["stored, but without effect here: ha-mode, ha-sync-mode"] == said["notes"]
    assert '{"ha-mode":"all","ha-sync-mode":"automatic","max-length":5}' == operator.list("list_policies")[0][4]


def test_a_trial_says_what_would_be_dropped_and_changes_nothing(operator, peer):
    peer.declare("q1")
    peer.declare("other")
    for _ in range(3):
        peer.publish("", "q1", b"x")
    given = {"name": "p", "pattern": "^q", "definition": '{"max-length":1}'}
    text = "Nothing was changed. The policy would apply to 1 queue; "
    drops = "it would drop or dead-letter 2 messages of 1 queue: 'q1' 2"
    assert operator.ask("set_policy", **given, dry_run=True)["message"] == text + drops
    assert (operator.list("list_policies"), operator.world.vhost.queues["q1"].messages) == ([], 3)
    given["definition"] = '{"message-ttl":1}'
    answer = operator.ask("set_policy", **given, dry_run=True)
    assert answer["message"] == text + "no message would be dropped"
    assert (answer["queues"], answer["queues_left"], answer["messages"]) == (1, 0, 0)
    with pytest.raises(Refused):
        operator.ask("set_policy", **{**given, "definition": '{"nope":1}'}, dry_run=True)


def test_a_trial_says_how_many_messages_may_be_older_than_a_ttl(operator, peer, monkeypatch):
    """Of those on disk alone it is not known."""
    peer.declare("q1")
    monkeypatch.setattr("pybroker.core.topology.policy_drops.surplus", lambda *_: (0, 1_000))
    answer = operator.ask("set_policy", **GIVEN, dry_run=True)
    told = "up to 1,000 messages on disk may be older than the TTL, and would be dropped"
    assert answer["message"] == f"Nothing was changed. The policy would apply to 1 queue; {told}"


def test_to_clear_one_can_be_tried_too(operator, peer):
    peer.declare("q")
    operator.ask("set_policy", name="low", pattern="^q", definition='{"max-length":1}', priority=-1)
    operator.ask("set_policy", name="p", pattern="^q", definition='{"max-length":5}')
    for _ in range(3):
        peer.publish("", "q", b"x")
    assert operator.ask("clear_policy", name="p", dry_run=True)["message"] == (
        "Nothing was changed. The policy would apply no longer to 1 queue; it would drop or dead-letter 2 messages of "
        "1 queue: 'q' 2"
    )
    answer = operator.ask("set_policy", name="p", pattern="^other", definition='{"max-length":5}', dry_run=True)
    assert "would apply to 0 queues and no longer to 1 queue" in answer["message"]
    assert len(operator.list("list_policies")) == 2
    with pytest.raises(Refused, match="Parameter does not exist"):
        operator.ask("clear_policy", name="nope", dry_run=True)


@pytest.mark.parametrize("name", ["set_policy", "clear_policy", "set_operator_policy", "clear_operator_policy"])
def test_the_banner_of_a_trial_says_so(name):
    command = commands.load(name)
    given = GIVEN if name.startswith("set") else {"name": "p"}
    does, would = ("Setting", "Would set") if name.startswith("set") else ("Clearing", "Would clear")
    assert command.banner(command.parse(given)).startswith(f"{does} ")
    assert command.banner(command.parse({**given, "dry_run": True})).startswith(f"{would} ")


def test_what_precedes_it_is_said(operator, peer):
    peer.declare("q1", arguments={"x-max-length": 1})
    peer.declare("q2")
    operator.ask("set_policy", name="high", pattern="^q2", definition='{"expires":60000}', priority=5)
    answer = operator.ask("set_policy", **GIVEN)
    assert answer["notes"] == [
        "the argument x-max-length precedes its max-length for 1 queue: 'q1' (1)",
        "policy 'high' (priority 5) precedes it for 1 queue: 'q2'",
    ]
    assert answer["message"] == ""
    answer = operator.ask("set_policy", name="high", pattern="^q2", definition='{"expires":60000}', priority=5)
    assert answer["notes"] == ["it applies instead of policy 'p', without its max-length, for 1 queue: 'q2'"]
    both = '{"expires":60000,"max-length":1}'
    assert operator.ask("set_policy", name="high", pattern="^q2", definition=both, priority=5) is None
