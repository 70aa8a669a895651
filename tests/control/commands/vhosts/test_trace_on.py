import pytest
from pamqp import commands

from pybroker.control.spec import Refused


def test_what_is_published_is_copied_from_now_on(operator, peer):
    peer.declare("traces")
    peer.call(commands.Queue.Bind(queue="traces", exchange="amq.rabbitmq.trace", routing_key="publish.#"))
    peer.publish("", "before")
    assert operator.ask("trace_on") == "Trace enabled for vhost /"
    assert operator.ask("trace_on") == "Trace enabled for vhost /"
    peer.publish("", "after")
    assert [trace.headers["routing_keys"] for trace in peer.drain("traces")] == [["after"]]
    assert operator.list("list_vhosts", "tracing") == [True]


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("trace_on", vhost="x")
    assert refused.value.exit_code == 65
