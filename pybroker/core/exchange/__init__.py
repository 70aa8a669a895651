"""Exchange types, one a file, and the two exchanges to which the broker itself publishes.

Owns the table of types, the event exchange and the firehose. Does not know how exchanges are declared (`topology/`),
nor who follows their bindings (`routing/`).
"""

from typing import Final

from pybroker.core.exchange.consistent_hash import ConsistentHashExchange
from pybroker.core.exchange.delayed import DelayedExchange
from pybroker.core.exchange.direct import DirectExchange
from pybroker.core.exchange.fanout import FanoutExchange
from pybroker.core.exchange.headers import HeadersExchange
from pybroker.core.exchange.modulus_hash import ModulusHashExchange
from pybroker.core.exchange.random import RandomExchange
from pybroker.core.exchange.recent_history import RecentHistoryExchange
from pybroker.core.exchange.super_stream import SuperStreamExchange
from pybroker.core.exchange.topic import TopicExchange
from pybroker.core.routing.exchange import Exchange

# The types that `exchange.declare` knows. A new type is one new file and one row.
EXCHANGE_TYPES: Final[dict[str, type[Exchange]]] = {
    exchange.TYPE: exchange
    for exchange in (
        DirectExchange,
        FanoutExchange,
        TopicExchange,
        HeadersExchange,
        ConsistentHashExchange,
        ModulusHashExchange,
        RandomExchange,
        RecentHistoryExchange,
        DelayedExchange,
        SuperStreamExchange,
    )
}
