"""Five staged situations (queue, journal, peer, memory, disk), and when nobody is held back."""

import pytest

from pybroker.control.spec import Refused
from pybroker.core.channel.receipt import Receipt
from pybroker.core.channel.throttle import JOURNAL, PEER, QueueCause
from pybroker.core.resources.resource_limits import TotalMemory

MIB = 1 << 20


@pytest.fixture
def marks(operator):
    marks = operator.world.broker.settings.watermarks
    marks.set_total(TotalMemory(1_000 * MIB, "cgroup v2", 4_000 * MIB))
    return marks


def ask(operator, connection=None):
    return operator.ask("why_blocked", **({} if connection is None else {"connection": connection}))


def causes(operator, peer):
    """Return what is told of one connection, by kind."""
    found = [one for one in ask(operator)["connections"] if one["pid"] == peer.session.pid]
    return {cause["cause"]: cause for one in found for cause in one["causes"]}


def test_nobody_is_and_nobody_ever_was(operator, peer):
    answer = ask(operator)
    assert ([], [], None) == (answer["connections"], answer["alarms"], answer["last"])
    assert "No connection is blocked or throttled. No open connection ever was." == answer["message"]
    assert (
        f"{peer.session.pid} is not blocked or throttled. It never was." == ask(operator, peer.session.pid)["message"]
    )


def test_who_was_the_last_is_told_when_nobody_is(operator, peer):
    clock = operator.world.clock
    operator.world.connect()
    peer.session.stop_reading(JOURNAL)
    clock.advance(700)
    peer.session.resume_reading(JOURNAL)
    clock.advance(10_000)
    answer = ask(operator)
    who = f"{peer.session.pid} {peer.session.name}"
    told = (
        f"No connection is blocked or throttled. The last was {who}, by journal, 10 s ago (total: 0.7 s by "
        "flow control)."
    )
    assert (told, "flow", 10.7) == (
        answer["message"],
        answer["last"]["last_blocked_by"],
        answer["last"]["last_blocked_age"],
    )
    told = (
        f"{peer.session.name} is not blocked or throttled. The last cause was journal, 10 s ago (total: 0.7 "
        "s by flow control)."
    )
    assert told == ask(operator, peer.session.name)["message"]


def test_b10_memory_who_publishes_who_would_and_what_to_type(operator, marks, peer):
    other = operator.world.connect()
    marks.measured.used, marks.measured.accounted = 410 * MIB, 300 * MIB
    peer.declare("q")
    peer.publish("", "q", b"x" * MIB)
    operator.daemon.check_alarms()
    peer.publish("", "q", b"x")
    operator.world.clock.advance(192_000)
    answer = ask(operator)
    assert "1 connection is blocked or throttled; 1 more will be as soon as it publishes." == answer["message"]
    blocked, blocking = answer["connections"]
    assert (peer.session.pid, "blocked", 192_000) == (blocked["pid"], blocked["state"], blocked["blocked_time"])
    assert (other.session.pid, "blocking") == (blocking["pid"], blocking["state"])
    (cause,) = blocked["causes"]
    assert ("memory", True, 192.0) == (cause["cause"], cause["now"], cause["seconds"])
    assert "has been blocked for 3 min 12 s by the memory alarm" == cause["message"]
    assert "will be blocked by the memory alarm as soon as it publishes" == blocking["causes"][0]["message"]
    assert (
        "429.9 MB used, 419.4 MB allowed (0.4 of 1,048.6 MB, cgroup v2); the largest queues are queue 'q' in "
        "vhost '/' 1.0 MB (1 message)"
    ) == cause["why"]
    assert "consume from or purge these queues, or: pybrokerctl set_vm_memory_high_watermark 0.6" == cause["advice"]
    assert (cause["why"], cause["advice"]) == (answer["alarms"][0]["why"], answer["alarms"][0]["advice"])


def test_disk_says_where_how_much_and_what_to_type(operator, marks, peer, tmp_path):
    operator.world.broker.settings.data_dir = str(tmp_path)
    marks.measured.disk_free = 40 * MIB
    operator.daemon.check_alarms()
    peer.declare("q")
    peer.publish("", "q", b"x")
    cause = causes(operator, peer)["disk"]
    assert cause["why"].startswith(f"41.9 MB free, 50.0 MB required, on the partition of {tmp_path} (mounted on /")
    assert "free space there, or: pybrokerctl set_disk_free_limit 20MB" == cause["advice"]


def test_the_journal_says_how_far_the_peer_is_ahead(operator, peer):
    log = operator.world.broker.log
    receipt = Receipt()
    receipt.wait(log, log.completed + 1)
    peer.session.credit.charge(receipt, 9 * MIB)
    operator.world.clock.advance(400)
    cause = causes(operator, peer)["journal"]
    assert "has been throttled for 0.4 s by the journal" == cause["message"]
    assert (
        "9.4 MB of its messages are not on disk yet; at 8.4 MB the node stops reading the connection "
        "until 4.2 MB are left"
    ) == cause["why"]
    assert (9 * MIB, 8 * MIB) == (cause["octets"], cause["octets_max"])


def test_the_peer_itself_is_told_of_its_replies(operator, peer):
    session = peer.session
    session.reply_octets = 2 * MIB
    session.stop_reading(PEER)
    cause = causes(operator, peer)["peer"]
    assert "has been throttled for 0.0 s by its own client, which does not read replies" == cause["message"]
    assert cause["why"].startswith("2.1 MB of replies wait because the client does not read them; at 1.0 MB the node")
    assert cause["advice"].endswith(f"pybrokerctl close_connection '{session.pid}' 'does not read'")


def test_the_queue_that_is_paged_out_is_named(operator, marks, peer):
    peer.declare("q")
    peer.publish("", "q", b"x" * MIB)
    marks.measured.used = 300 * MIB
    peer.session.stop_reading(QueueCause("/", "q"))
    cause = causes(operator, peer)["queue"]
    assert "has been throttled for 0.0 s by queue 'q' in vhost '/'" == cause["message"]
    assert (
        "queue 'q' in vhost '/' holds 1.0 MB in memory and accepts messages only as fast as it is paged out: "
        "314.6 MB of memory are used, and messages are paged out above 209.7 MB (0.5 of the limit, 419.4 MB)"
    ) == cause["why"]
    assert "consume from the queue, or: pybrokerctl set_vm_memory_high_watermark 0.8" == cause["advice"]


def test_what_held_it_a_moment_ago_is_told_since_that_changes_many_times_a_second(operator, marks, peer):
    peer.declare("q")
    queue = operator.world.vhost.queues["q"]
    peer.session.stop_reading(QueueCause("/", "q"))
    peer.session.resume_reading(QueueCause("/", "q"))
    operator.world.clock.advance(1_000)
    cause = causes(operator, peer)["queue"]
    assert (False, "was throttled 1.0 s ago by queue 'q' in vhost '/', and is being read again") == (
        cause["now"],
        cause["message"],
    )
    operator.world.vhost.delete_queue(queue)
    assert "queue 'q' in vhost '/' could not keep up" == causes(operator, peer)["queue"]["why"]


def test_an_alarm_that_is_over_is_told_where_flow_is_still_shown(operator, peer):
    peer.session.stop_reading(JOURNAL)
    peer.session.resume_reading(JOURNAL)
    operator.world.broker.alarms.set_by_hand("memory")
    peer.declare("q")
    peer.publish("", "q", b"x")
    operator.world.clock.advance(1_000)
    operator.world.broker.alarms.clear_by_hand("memory")
    operator.world.run()
    (document,) = ask(operator)["connections"]
    (cause,) = document["causes"]
    assert (
        "flow",
        "memory",
        "was throttled 1.0 s ago by the memory alarm, and is being read again",
        "the alarm has cleared",
    ) == (
        document["state"],
        cause["cause"],
        cause["message"],
        cause["why"],
    )


def test_many_replies_that_wait_for_the_disk_are_counted_by_channel(operator, peer):
    channel = peer.session.channels[1]
    for _ in range(64):
        channel.wait_for(b"", operator.world.broker.log, operator.world.broker.log.completed + 1)
    cause = causes(operator, peer)["replies"]
    assert "has been throttled for 0.0 s by replies that wait for the disk" == cause["message"]
    told = "64 replies wait for the disk on channel 1; at 64 the node stops reading the connection until 32 are left"
    assert told == cause["why"]


def test_an_alarm_and_the_journal_are_two_causes(operator, peer):
    peer.session.stop_reading(JOURNAL)
    operator.world.broker.alarms.set_by_hand("memory")
    assert ["memory", "journal"] == list(causes(operator, peer))


def test_one_is_asked_for_by_id_by_its_addresses_or_by_what_its_client_calls_it(operator, peer):
    operator.world.connect()
    peer.session.client_properties["connection_name"] = "worker"
    peer.session.stop_reading(JOURNAL)
    for name in (peer.session.pid, "worker"):
        assert [peer.session.pid] == [one["pid"] for one in ask(operator, name)["connections"]]
    for name in ("nosuch", ""):
        with pytest.raises(Refused) as refused:
            ask(operator, name)
        assert (65, True) == (
            refused.value.exit_code,
            refused.value.text.startswith("no connection has the id or name"),
        )


def test_an_alarm_without_anybody_is_told(operator):
    operator.world.broker.alarms.set_by_hand("memory")
    answer = ask(operator)
    assert "No client is connected. Publishers will be blocked until the alarm clears. " in answer["message"]
    assert ["an operator set the alarm"] == [alarm["why"] for alarm in answer["alarms"]]


def test_the_alarm_of_files_holds_nobody_back(operator, peer):
    operator.world.broker.alarms.set_by_hand("file_descriptor_limit")
    assert ([], []) == (ask(operator)["alarms"], ask(operator)["connections"])


def test_others_go_on_while_many_are_looked_at_and_those_that_wait_come_first(operator, peer):
    for _ in range(500):
        operator.world.connect()
    last = operator.world.connect()
    operator.world.broker.alarms.set_by_hand("memory")
    last.publish("", "nowhere", b"x")
    operator.world.run()
    answer = ask(operator)
    assert "1 connection is blocked or throttled; 501 more will be as soon as they publish." == answer["message"]
    assert (500, 2, last.session.pid) == (
        len(answer["connections"]),
        answer["left_out"],
        answer["connections"][0]["pid"],
    )
    assert 5 == len(operator.pauses)


def test_those_of_now_of_a_moment_ago_and_of_later_are_counted_apart(operator, peer):
    peer.session.stop_reading(JOURNAL)
    assert "1 connection is blocked or throttled." == ask(operator)["message"]
    peer.session.resume_reading(JOURNAL)
    assert "1 connection was blocked or throttled until a moment ago." == ask(operator)["message"]
    for _ in range(2):
        operator.world.connect().session.stop_reading(JOURNAL)
    assert "2 connections are blocked or throttled; 1 more was until a moment ago." == ask(operator)["message"]
    operator.world.broker.alarms.set_by_hand("memory")
    assert "2 connections are blocked or throttled; 1 more will be as soon as it publishes." == ask(operator)["message"]
    for one in operator.world.peers:
        one.resume_reading(JOURNAL)
    assert "3 connections will be blocked or throttled as soon as they publish." == ask(operator)["message"]
