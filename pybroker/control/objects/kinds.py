"""The table of kinds."""

from collections.abc import Mapping
from typing import Final

from pybroker.control.objects import access, clients, rules, stream_clients, topology
from pybroker.control.objects.kind import Kind

KINDS: Final[Mapping[str, Kind]] = {
    "queue": topology.QUEUES,
    "exchange": topology.EXCHANGES,
    "binding": topology.BINDINGS,
    "vhost": topology.VHOSTS,
    "connection": clients.CONNECTIONS,
    "channel": clients.CHANNELS,
    "consumer": clients.CONSUMERS,
    "stream_publisher": stream_clients.PUBLISHERS,
    "stream_consumer": stream_clients.CONSUMERS,
    "user": access.USERS,
    "user_limit": access.LIMITS,
    "permission": access.PERMISSIONS,
    "topic_permission": access.TOPIC_PERMISSIONS,
    "policy": rules.POLICIES,
    "operator_policy": rules.OPERATOR_POLICIES,
    "parameter": rules.PARAMETERS,
    "global_parameter": rules.GLOBAL_PARAMETERS,
    "limit": rules.LIMITS,
}
