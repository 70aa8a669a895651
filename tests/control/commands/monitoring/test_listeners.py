def test_a_line_and_a_document_for_each(operator):
    operator.listen(("::", 5672), ("127.0.0.1", 5673))
    document = operator.ask("listeners")
    assert document["message"].splitlines() == [
        "Interface: [::], port: 5672, protocol: amqp, purpose: AMQP 0-9-1",
        "Interface: 127.0.0.1, port: 5673, protocol: amqp, purpose: AMQP 0-9-1",
    ]
    assert [(one["interface"], one["port"]) for one in document["listeners"]] == [("[::]", 5672), ("127.0.0.1", 5673)]


def test_none_is_said_in_a_sentence(operator):
    document = operator.ask("listeners")
    assert document["message"] == "Node pybroker@vm reported no enabled listeners."
    assert document["listeners"] == []
