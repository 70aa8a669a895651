"""What waits in a delayed message exchange until it is due.

Owns the order by time, and what of it is in memory. Does not know the exchange, but by its name and its route.
"""
