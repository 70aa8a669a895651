import pytest

pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from pybroker.client import Properties, parse_uri
from pybroker.client.errors import AuthenticationFailed, NotAllowed, NotFound
from pybroker.spark.session import ConsumerCancelled, Session


@pytest.fixture
def session(uri):
    session = Session(parse_uri(uri))
    yield session
    session.close()


def publish(channel, queue, count, body=b"m"):
    for _ in range(count):
        channel.basic_publish("", queue, body, Properties(delivery_mode=2))
    channel.wait_for_confirms()


def test_no_message_more_is_taken_than_was_asked_for(session, channel, queue):
    publish(channel, queue, 30)
    assert sum(map(len, session.consume(queue, 20, 5.0, prefetch=20))) == 20
    assert channel.queue_declare(queue, durable=True).message_count == 10
    session.ack(session.last_tag)
    assert sum(map(len, session.consume(queue, 30, 1.0, prefetch=30))) == 10
    session.close()
    assert channel.queue_declare(queue, durable=True).message_count == 10


def test_large_bodies_come_in_batches_of_their_own(session, channel, queue):
    publish(channel, queue, 3, b"x" * (9 << 20))
    batches = list(session.consume(queue, 3, 5.0, prefetch=0))
    assert sum(map(len, batches)) == 3
    assert max(batch.nbytes for batch in batches) < 3 * (9 << 20)


def test_what_the_broker_refuses_is_raised_in_its_words(session, uri, name):
    with pytest.raises(NotFound, match=f"no queue '{name}' in vhost '/'"):
        session.messages_ready(name)
    with pytest.raises(AuthenticationFailed):
        Session(parse_uri(uri.replace("//", "//nobody:wrong@")))
    with pytest.raises(NotAllowed, match="vhost nowhere not found"):
        Session(parse_uri(f"{uri}/nowhere"))


def test_a_queue_that_is_deleted_meanwhile_ends_the_consumer(session, channel, name):
    channel.queue_declare(name)
    publish(channel, name, 1)
    batches = session.consume(name, 20_000, 5.0, prefetch=0)
    channel.queue_delete(name)
    with pytest.raises((ConsumerCancelled, NotFound)):
        list(batches)


def test_closing_twice_is_no_error(uri):
    session = Session(parse_uri(uri))
    session.close()
    session.close()


def test_addresses_where_no_broker_is_are_named():
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1: Connection refused; 127\.0\.0\.1:2: Connection refused"):
        Session(parse_uri("amqp://127.0.0.1:1", "amqp://127.0.0.1:2"))
