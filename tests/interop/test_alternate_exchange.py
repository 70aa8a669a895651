"""S1's example of alternate exchanges, statement by statement, through pika (requirement A18)."""


def test_a18_the_documents_example_runs_as_printed(broker):
    channel = broker.pika().channel()
    args = {}
    args["alternate-exchange"] = "my-ae"
    channel.exchange_declare("my-direct", "direct", durable=False, auto_delete=False, internal=False, arguments=args)
    channel.exchange_declare("my-ae", "fanout")
    channel.queue_declare("routed")
    channel.queue_bind("routed", "my-direct", "key1")
    channel.queue_declare("unrouted")
    channel.queue_bind("unrouted", "my-ae", "")

    channel.basic_publish("my-direct", "key2", b"test")
    method, _, body = channel.basic_get("unrouted", auto_ack=True)
    assert (body, method.exchange, method.routing_key) == (b"test", "my-direct", "key2")

    channel.basic_publish("my-direct", "key1", b"test")
    method, _, body = channel.basic_get("routed", auto_ack=True)
    assert (body, method.exchange, method.routing_key) == (b"test", "my-direct", "key1")
    assert channel.basic_get("unrouted", auto_ack=True) == (None, None, None)

    channel.queue_delete("routed")
    channel.queue_delete("unrouted")
    channel.exchange_delete("my-direct")
    channel.exchange_delete("my-ae")
    channel.connection.close()


def test_a9_mandatory_carries_through_the_alternate_exchange(broker):
    with broker.pika() as connection:
        channel = connection.channel()
        channel.exchange_declare("a9-direct", "direct", auto_delete=True, arguments={"alternate-exchange": "a9-ae"})
        channel.exchange_declare("a9-ae", "direct", auto_delete=True)
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "a9-ae", "known")
        returned = []
        channel.add_on_return_callback(lambda _, method, __, body: returned.append((method, body)))
        channel.confirm_delivery()
        channel.basic_publish("a9-direct", "known", b"routed", mandatory=True)
        assert returned == []
        assert channel.basic_get(queue, auto_ack=True)[2] == b"routed"
        try:
            channel.basic_publish("a9-direct", "unknown", b"lost", mandatory=True)
        except Exception as error:  # noqa: BLE001 - pika's UnroutableError carries the message
            method, body = error.messages[0].method, error.messages[0].body
        assert (
            method.reply_code,
            method.reply_text,
            method.exchange,
            method.routing_key,
        ) == (312, "NO_ROUTE", "a9-direct", "unknown")
        assert body == b"lost"


def test_a11_properties_are_unchanged_through_the_alternate_exchange(broker):
    import pika

    sent = pika.BasicProperties(
        content_type="text/plain", delivery_mode=2, priority=5, headers={"a": 1, "b": "two"}, message_id="m-1"
    )
    with broker.pika() as connection:
        channel = connection.channel()
        channel.exchange_declare("a11", "direct", auto_delete=True, arguments={"alternate-exchange": "amq.fanout"})
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "amq.fanout")
        channel.basic_publish("a11", "nowhere", b"body", sent)
        method, properties, body = channel.basic_get(queue, auto_ack=True)
        assert (body, method.exchange, method.routing_key) == (b"body", "a11", "nowhere")
        assert vars(sent) == vars(properties)
        channel.exchange_delete("a11")
