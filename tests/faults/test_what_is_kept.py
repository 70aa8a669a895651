"""Further facts that stay or go over a stop and signal 9: contents to the octet, deletions, purges, limits, owners."""

import pika
import pytest
from pamqp import commands

from tests.faults.load import wait_until
from tests.faults.test_restart import ENDS, again, client, everything, exists, get, queue
from tests.interop.peer import PERSISTENT


def test_contents_and_properties_are_kept_to_the_octet(broker):
    broker.start()
    headers = {"text": "\u00e4", "number": 1 << 40, "list": [1, "two", None], "table": {"deep": True}}
    properties = pika.BasicProperties(
        "text/plain", "gzip", headers, 2, 3, "corr", "reply", None, "id", 1_700_000_000, "type", "guest", "app"
    )
    bodies = [b"", b"x", bytes(range(256)) * 4_000]
    connection = pika.BlockingConnection(pika.ConnectionParameters(*broker.address))
    channel = connection.channel()
    channel.queue_declare("q", durable=True)
    channel.confirm_delivery()
    for octets in bodies:
        channel.basic_publish("", "q", octets, properties)
    connection.close()
    again(broker, "kill")
    # A peer of small frames gets the same in more of them.
    connection = pika.BlockingConnection(pika.ConnectionParameters(*broker.address, frame_max=4_096))
    channel = connection.channel()
    got = [channel.basic_get("q", auto_ack=True) for _ in bodies]
    assert bodies == [octets for _, _, octets in got]
    # After a kill everything may have been delivered before; nobody counts that.
    assert [True] * len(bodies) == [method.redelivered for method, _, _ in got]
    assert [properties] * len(bodies) == [each for _, each, _ in got]
    connection.close()


def test_a_queue_made_anew_has_nothing_of_the_one_before(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        for number in range(3):
            queue(peer, "q")
            peer.confirmed("q", *[b"%d" % number] * 10)
            if number < 2:
                peer.call(commands.Queue.Delete(queue="q"), commands.Queue.DeleteOk)
    again(broker, "kill")
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "q")] == [b"2"] * 10


def test_what_was_purged_does_not_return(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        peer.confirmed("q", *[b"purged"] * 100)
        assert peer.call(commands.Queue.Purge(queue="q"), commands.Queue.PurgeOk).message_count == 100
        peer.confirmed("q", b"behind it")
    again(broker, "kill")
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "q")] == [b"behind it"]


def test_what_a_limit_dropped_does_not_return(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q", x_max_length=3)
        peer.confirmed("q", *[b"%d" % number for number in range(20)])
    again(broker, "kill")
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "q")] == [b"17", b"18", b"19"]


def test_one_message_in_many_queues_is_settled_in_each_by_itself(broker):
    broker.start()
    names = [f"q{number}" for number in range(5)]
    with client(broker, confirms=True) as peer:
        for name in names:
            queue(peer, name)
            peer.call(commands.Queue.Bind(queue=name, exchange="amq.fanout"), commands.Queue.BindOk)
        peer.confirmed("", b"1", b"2", exchange="amq.fanout")
        for name in names[:3]:
            assert get(peer, name)[0] == b"1"
        peer.call(commands.Queue.Delete(queue="q4"), commands.Queue.DeleteOk)
        peer.confirmed("q0", b"3")
    again(broker, "kill")
    with client(broker) as peer:
        left = [[octets for octets, _ in everything(peer, name)] for name in names[:4]]
    assert left == [[b"2", b"3"], [b"2"], [b"2"], [b"1", b"2"]]
    assert not exists(broker, "q4")


@pytest.mark.parametrize("end", ENDS)
def test_what_belongs_to_a_connection_goes_with_it(broker, end):
    broker.start()
    with client(broker, confirms=True) as peer:
        peer.call(commands.Queue.Declare(queue="mine", durable=True, exclusive=True), commands.Queue.DeclareOk)
        peer.confirmed("mine", b"gone")
        method = commands.Exchange.Declare(exchange="transient", exchange_type="fanout")
        peer.call(method, commands.Exchange.DeclareOk)
        queue(peer, "q")
        peer.call(commands.Queue.Bind(queue="q", exchange="transient"), commands.Queue.BindOk)
        broker.kill() if end == "kill" else None
    if end == "stop":
        broker.stop()
    broker.start()
    assert not exists(broker, "mine")
    assert exists(broker, "q")
    assert "transient" not in broker.ctl("list_exchanges", "name")
    assert "transient" not in broker.ctl("list_bindings", "source_name")


def test_many_lives_without_anything_new_leave_no_more_files(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        peer.confirmed("q", b"1", b"2", b"3")
    counts = []
    for number in range(6):
        again(broker, ENDS[number % 2])
        with client(broker) as peer:
            reply = peer.call(commands.Queue.Declare(queue="q", passive=True), commands.Queue.DeclareOk)
            assert reply.message_count == 3
        # The telemetry keeps what it saw in each life, for some days.
        kept = [path for path in broker.data.rglob("*") if path.is_file() and "telemetry" not in path.parts]
        counts.append(len(kept))
    assert counts[-1] <= counts[2] + 4, counts


def test_unacknowledged_messages_come_back_in_their_places(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        peer.confirmed("q", *[b"%d" % number for number in range(10)])
        for _ in range(10):
            get(peer, "q", ack=False)
        peer.send(commands.Basic.Ack(2))
        peer.send(commands.Basic.Reject(4, requeue=False))
        peer.publish("", "q", b"10", PERSISTENT)
        wait_until(lambda: peer.expect(commands.Basic.Ack), "the confirm")
        broker.kill()
    broker.start()
    with client(broker) as peer:
        left = [int(octets) for octets, _ in everything(peer, "q")]
    assert left == [0, 2, 4, 5, 6, 7, 8, 9, 10]


def test_a_confirmed_message_has_its_queue_though_nobody_waited_for_the_declaration(broker):
    broker.start()
    for life in range(4):
        with client(broker, confirms=True) as peer:
            peer.send(commands.Exchange.Declare(exchange=f"x{life}", durable=True, nowait=True))
            for number in range(20):
                name = f"q{life}.{number}"
                peer.send(commands.Queue.Declare(queue=name, durable=True, nowait=True))
                peer.send(commands.Queue.Bind(queue=name, exchange=f"x{life}", routing_key=name, nowait=True))
                peer.publish(f"x{life}", name, name.encode(), PERSISTENT)
            while peer.tag < 10 + life:
                peer.tag = peer.expect(commands.Basic.Ack).delivery_tag
            broker.kill()
        broker.start()
        with client(broker) as peer:
            for number in range(10 + life):
                name = f"q{life}.{number}"
                assert get(peer, name) == (name.encode(), True)
