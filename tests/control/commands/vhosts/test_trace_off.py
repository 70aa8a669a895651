import pytest
from pamqp import commands

from pybroker.control.spec import Refused


def test_nothing_is_copied_any_more(operator, peer):
    peer.declare("traces")
    peer.call(commands.Queue.Bind(queue="traces", exchange="amq.rabbitmq.trace", routing_key="publish.#"))
    operator.ask("trace_on")
    peer.publish("", "before")
    assert operator.ask("trace_off") == "Trace disabled for vhost /"
    assert operator.ask("trace_off") == "Trace disabled for vhost /"
    peer.publish("", "after")
    assert [trace.headers["routing_keys"] for trace in peer.drain("traces")] == [["before"]]
    assert operator.list("list_vhosts", "tracing") == [False]


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("trace_off", vhost="x")
    assert refused.value.exit_code == 65
