"""Listings of what there is: one row a queue, exchange, connection, and so on."""
