"""Messages that wait in a delayed message exchange until they are due.

Owns their order by time, and which of them are in memory. Knows the exchange only by its name and its route.
"""
