import json

import pytest

from pybroker.control.spec import Refused


def audit(operator, *deletions: dict[str, object]) -> None:
    common = {"event": "queue.deleted", "vhost": "/", "name": "q", "user": "guest", "connection": "a:1 -> b:2"}
    operator.daemon.audited = [
        json.dumps({**common, "peer": "a:1", "time": f"2023-11-14T22:1{n}:00.000+00:00", **one}).encode()
        for n, one in enumerate(deletions)
    ]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            {"cause": "client", "facts": {"messages": 1234}},
            "by user 'guest' from a:1. 1,234 messages were deleted with it.",
        ),
        ({"cause": "client", "facts": {"messages": 1}}, "by user 'guest' from a:1. 1 message were deleted with it."),
        (
            {"cause": "command delete_queue", "peer": "uid 0 (pid 7)"},
            "by an operator, uid 0 (pid 7): command delete_queue.",
        ),
        (
            {"cause": "auto-delete: its last consumer was cancelled"},
            "(auto-delete: its last consumer was cancelled; a:1 -> b:2).",
        ),
        (
            {"cause": "expired: unused for 100 ms (x-expires)", "peer": ""},
            "(expired: unused for 100 ms (x-expires)).",
        ),
    ],
)
def test_the_last_deletion_is_told_in_a_sentence(operator, entry, told):
    audit(operator, entry)
    document = operator.ask("why_deleted", queue="q")
    assert f"Queue 'q' in vhost '/' was deleted at 2023-11-14 22:10:00 UTC {told}" == document["message"]
    assert (False, 1) == (document["exists"], len(document["deletions"]))


def test_those_before_it_are_listed_and_whether_it_is_there_again(operator, peer):
    peer.declare("q")
    audit(operator, {"cause": "client"}, {"cause": "command delete_queue", "peer": "uid 0 (pid 7)"})
    document = operator.ask("why_deleted", queue="q")
    by = "by an operator, uid 0 (pid 7): command delete_queue."
    assert [
        f"Queue 'q' in vhost '/' was deleted at 2023-11-14 22:11:00 UTC {by}",
        "Before that:",
        "  2023-11-14 22:10:00  client",
        "A queue of this name exists again.",
    ] == document["message"].splitlines()
    assert document["exists"]


@pytest.mark.parametrize("declared", [True, False])
def test_a_queue_of_which_nothing_is_known_is_refused(operator, peer, declared):
    if declared:
        peer.declare("q")
    audit(operator, {"cause": "client", "vhost": "v"}, {"cause": "client", "name": "r"})
    with pytest.raises(Refused) as refused:
        operator.ask("why_deleted", queue="q")
    tail = "The queue exists."
    if not declared:
        tail = "An earlier deletion may be in an older audit log. "
        tail += "Transient and exclusive queues are deleted when the node stops."
    assert f"The audit log contains no deletion of queue 'q' in vhost '/'. {tail}" == refused.value.text


def created(minute, **facts):
    return {"event": "queue.created", "cause": "client", "time": f"2023-11-14T22:{minute}:00.000+00:00", "facts": facts}


def started(operator, minute):
    name = operator.daemon.world.broker.settings.node_name
    return {"event": "node.started", "vhost": "", "name": name, "time": f"2023-11-14T22:{minute}:00.000+00:00"}


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"durable": False, "exclusive": False}, "transient"),
        ({"durable": False, "exclusive": True}, "exclusive"),
        ({"durable": True, "exclusive": True}, "exclusive"),
    ],
)
def test_what_ended_with_the_node_is_told_with_its_next_start(operator, facts, kind):
    starts = [started(operator, minute) for minute in (30, 40)]
    audit(operator, {"cause": "client"}, created(20, **facts), *starts)
    document = operator.ask("why_deleted", queue="q")
    what = f"Queue 'q' in vhost '/' was {kind}, so it was deleted when the node restarted at "
    assert document["message"].splitlines() == [
        f"{what}2023-11-14 22:30:00 UTC. It had been declared at 2023-11-14 22:20:00 UTC by user 'guest' from a:1.",
        "Before that:",
        "  2023-11-14 22:10:00  client",
    ]
    assert (document["exists"], document["lost"]["kind"], len(document["deletions"])) == (False, kind, 1)


@pytest.mark.parametrize("durable", [True, False])
def test_what_no_start_explains_is_not_said_to_have_ended_with_one(operator, durable):
    minute = 20 if durable else 50
    audit(operator, created(minute, durable=durable, exclusive=False), started(operator, 30))
    with pytest.raises(Refused) as refused:
        operator.ask("why_deleted", queue="q")
    assert refused.value.text.endswith("are deleted when the node stops; it last started at 2023-11-14 22:30:00 UTC.")


def test_a_deletion_that_came_after_the_declaration_is_what_is_told(operator):
    audit(operator, created(10, durable=False), started(operator, 15), {"cause": "client", "time": "2023-11-14T22:20"})
    assert "was deleted at 2023-11-14 22:20" in operator.ask("why_deleted", queue="q")["message"]
