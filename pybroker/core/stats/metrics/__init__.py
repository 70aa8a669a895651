"""The tables of metrics: each figure once, with its name, type, help, unit and reader.

Columns of listings, rows of the telemetry, the pipeline's tables and what monitoring systems read are projections of
it. It loads nothing, so that pybrokerctl and the pipeline can say what there is without the broker: a reader gets the
noun that it reads.
"""

from pybroker.core.stats.metrics.client import CHANNEL, CONNECTION, CONSUMER
from pybroker.core.stats.metrics.exchange import EXCHANGE
from pybroker.core.stats.metrics.metric import Metric, sampled
from pybroker.core.stats.metrics.node import DEAD_LETTER, GLOBAL, GLOBAL_STREAM, NODE, VHOST
from pybroker.core.stats.metrics.queue import QUEUE, STREAM, STREAM_OFFSET

__all__ = (
    "CHANNEL",
    "CONNECTION",
    "CONSUMER",
    "DEAD_LETTER",
    "EXCHANGE",
    "GLOBAL",
    "GLOBAL_STREAM",
    "NODE",
    "QUEUE",
    "STREAM",
    "STREAM_OFFSET",
    "VHOST",
    "Metric",
    "sampled",
)
