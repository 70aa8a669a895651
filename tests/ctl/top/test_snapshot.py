from pybrokerctl.client import Connection
from pybrokerctl.top.snapshot import Snapshot, clients_between, fetch, queues_between, total

QUEUE = ["/", "q", 5, 1, 2, 600, 100, 90, 80, 3]
CLIENT = ["<1>", "1.2.3.4:5 -> 1.2.3.4:5672", "", "guest", "/", "running", "", 1, 0, 1000, 500]


def snapshot(at_s: float, queues=(), connections=()) -> Snapshot:
    return Snapshot(at_s, {}, list(queues), list(connections))


def test_there_are_no_rates_before_the_second_look():
    queue = queues_between(None, snapshot(1.0, [QUEUE]))[0]
    assert (queue.vhost, queue.name, queue.ready, queue.unacked, queue.consumers, queue.octets) == (
        "/",
        "q",
        5,
        1,
        2,
        600,
    )
    assert (queue.publish, queue.deliver, queue.ack, queue.redeliver) == (None,) * 4


def test_rates_are_what_counters_grew_by_in_a_second():
    later = [*QUEUE[:6], 150, 100, 80, 4]
    queue = queues_between(snapshot(1.0, [QUEUE]), snapshot(3.0, [later]))[0]
    assert (queue.publish, queue.deliver, queue.ack, queue.redeliver) == (25, 5, 0, 0.5)


def test_a_queue_declared_anew_has_no_negative_rate():
    later = [*QUEUE[:6], 10, 0, 0, 0]
    assert queues_between(snapshot(1.0, [QUEUE]), snapshot(2.0, [later]))[0].publish == 0


def test_one_that_was_not_there_before_has_no_rate_yet():
    other = ["v", *QUEUE[1:]]
    before, after = snapshot(1.0, [QUEUE]), snapshot(2.0, [QUEUE, other])
    assert [queue.publish for queue in queues_between(before, after)] == [0, None]


def test_connections_have_octets_a_second_and_the_name_their_client_gives():
    later = [*CLIENT[:2], "mine", *CLIENT[3:9], 3000, 500]
    first, second = clients_between(snapshot(0.0, (), [CLIENT]), snapshot(1.0, (), [later, ["<2>", *CLIENT[1:]]]))
    assert (first.name, first.received, first.sent) == ("mine", 2000, 0)
    assert (second.name, second.received) == ("1.2.3.4:5 -> 1.2.3.4:5672", None)


def test_totals_leave_out_what_is_not_known():
    assert total([1.0, None, 2.0], lambda one: one) == 3
    assert total([None], lambda one: one) is None
    assert total([], lambda one: one) == 0


def test_everything_is_asked_over_one_connection(daemon):
    daemon.answers = {
        "status": [{"value": {"uptime": 1}}, {"end": 0}],
        "top": [{"columns": []}, QUEUE, {"end": 1}],
        "list_connections": [{"columns": []}, CLIENT, {"end": 1}],
    }
    with Connection(daemon.path, 10) as connection:
        taken = fetch(connection, {"vhost": "v"})
        assert fetch(connection, {}).queues == [QUEUE]
    assert (taken.status, taken.queues, taken.connections) == ({"uptime": 1}, [QUEUE], [CLIENT])
    assert [name for name, _ in daemon.requests] == ["status", "top", "list_connections"] * 2
    assert daemon.requests[1][1]["vhost"] == "v"


def test_ages_and_steady_rates_are_the_nodes_own():
    queue = queues_between(snapshot(1.0, [[*QUEUE, 5_000, 1.5, 2]]), snapshot(2.0, [[*QUEUE, 6_000, 1.5, ""]]))[0]
    assert (queue.head_age_ms, queue.in_rate, queue.out_rate, queue.redeliver) == (6_000, 1.5, None, 0)
    assert queues_between(None, snapshot(1.0, [[*QUEUE, "", "", ""]]))[0].head_age_ms is None
