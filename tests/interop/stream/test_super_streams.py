"""Super streams as bindings make them: an exchange, streams bound to it, and what Route and Partitions tell of them."""

import pytest

from tests.interop.stream.peer import Code

REGIONS = ("amer", "emea", "apac")


@pytest.fixture(scope="module")
def invoices(door):
    """Return the name of a super stream with three partitions, whose order is not that of their names."""
    with door.amqp.pika() as connection:
        channel = connection.channel()
        channel.exchange_declare("invoices", "direct", durable=True, arguments={"x-super-stream": True})
        for place, region in enumerate(REGIONS):
            channel.queue_declare(f"invoices-{region}", durable=True, arguments={"x-queue-type": "stream"})
            channel.queue_bind(f"invoices-{region}", "invoices", region, arguments={"x-stream-partition-order": place})
        yield "invoices"
        channel.exchange_delete("invoices")
        for region in REGIONS:
            channel.queue_delete(f"invoices-{region}")


def test_partitions_are_in_their_order(client, invoices):
    assert client.partitions(invoices) == (Code.OK, [f"invoices-{region}" for region in REGIONS])


def test_a_key_leads_to_its_partition(client, invoices):
    for region in REGIONS:
        assert client.route(region, invoices) == (Code.OK, [f"invoices-{region}"])
    assert client.route("nowhere", invoices) == (Code.OK, [])


def test_a_super_stream_that_is_not_there(client):
    assert client.partitions("nowhere") == (Code.NO_STREAM, [])
    assert client.route("key", "nowhere") == (Code.NO_STREAM, [])


def test_partitions_are_streams(client, invoices):
    _, partitions = client.partitions(invoices)
    assert {code for code, *_ in client.metadata(*partitions)[1].values()} == {Code.OK}
    for number, partition in enumerate(partitions):
        assert client.declare(number, partition) == Code.OK
        client.number(number, range(3))
        assert client.subscribe(number, partition) == Code.OK
        assert client.offsets(3) == [0, 1, 2]


def test_an_exchange_without_streams_has_no_partitions(door, client):
    with door.amqp.pika() as connection:
        channel = connection.channel()
        channel.exchange_declare("empty", "direct", durable=True, arguments={"x-super-stream": True})
        assert client.partitions("empty") == (Code.OK, [])
        channel.exchange_delete("empty")
