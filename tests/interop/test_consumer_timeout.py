"""A consumer that does not acknowledge in time, by a real client: its message goes on, or its channel is closed."""

import pytest

from tests.interop.broker_process import BrokerProcess

TEXT = (
    "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1000 ms. "
    "This timeout value can be configured, see consumers doc guide to learn more"
)


@pytest.fixture(params=["return", pytest.param("close", marks=pytest.mark.slow)])
def impatient(request, tmp_path):
    """Return a broker that waits for a second."""
    config = f"consumer_timeout = 1000\namqp.consumer_timeout = {request.param}\n"
    broker = BrokerProcess(tmp_path, config=config)
    yield broker, request.param
    assert broker.stop() == (0, "")
    assert "Traceback" not in broker.log


def test_a_message_that_is_not_acknowledged_in_time(impatient):
    broker, way = impatient
    with broker.pika() as connection, broker.pika() as other:
        channel, second = connection.channel(), other.channel()
        channel.queue_declare("q", durable=True)
        channel.queue_declare("patient", durable=True, arguments={"x-consumer-timeout": 600_000})
        for queue in ("q", "patient"):
            channel.basic_publish("", queue, b"m")
        channel.basic_qos(prefetch_count=1)
        got = []
        channel.basic_consume("patient", lambda *given: got.append(given))
        channel.basic_consume("q", lambda *given: got.append(given))
        while len(got) < 2:
            connection.process_data_events(0.1)
        late = next(method for _, method, _, _ in got if method.routing_key == "q")
        method, properties, body = next(second.consume("q", inactivity_timeout=30))
        assert (method.redelivered, properties.headers, body) == (True, {"x-delivery-count": 1}, b"m")
        second.basic_ack(method.delivery_tag)
        if way == "close":
            while channel.is_open:
                connection.process_data_events(0.1)
            why = channel._closing_reason
            assert (why.reply_code, why.reply_text) == (406, TEXT)
        else:
            channel.basic_ack(late.delivery_tag)
            channel.basic_publish("", "q", b"next")
            while len(got) < 3:
                connection.process_data_events(0.1)
            assert got[-1][3] == b"next"
            broker.wait_for_log("after its consumer timeout")
    broker.wait_for_log("has timed out waiting for a consumer acknowledgement of a delivery with delivery tag = 2")
