"""An operator as traces know them."""

from pybroker.core.events.cause import Cause
from pybroker.core.message_trace.facts import who
from pybroker.core.operator.stand_in import StandIn


def test_it_is_known_by_its_cause():
    channel = StandIn(Cause("command publish", "u", "uid 0"))
    assert {"user": "u", "connection": "uid 0", "client_name": "", "channel": 0} == who(channel)
    assert (True, None) == (channel.confirms, channel.transaction)
