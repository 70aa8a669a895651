"""The routes of the HTTP API, a table in a file for each noun.

A new route is a row in the table of its noun, a row in pybroker-http(7), and a test. Its function gets a Call, and the
parts of the path by name.
"""

from typing import Final

from pybroker.http.routes import (
    bindings,
    clients,
    cluster,
    definitions,
    exchanges,
    features,
    health,
    nodes,
    operation,
    orders,
    overview,
    queues,
    rules,
    session,
    streams,
    users,
    vhosts,
)

ROUTES: Final = (
    *overview.ROUTES,
    *nodes.ROUTES,
    *vhosts.ROUTES,
    *users.ROUTES,
    *exchanges.ROUTES,
    *queues.ROUTES,
    *bindings.ROUTES,
    *clients.ROUTES,
    *rules.ROUTES,
    *definitions.ROUTES,
    *features.ROUTES,
    *streams.ROUTES,
    *health.ROUTES,
    *cluster.ROUTES,
    *session.ROUTES,
    *operation.ROUTES,
    *orders.ROUTES,
)
