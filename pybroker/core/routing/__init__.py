"""The way of a message from an exchange to destinations, and the verdicts about it that are kept.

Owns the base of all exchanges, bindings, the router and the publisher. Does not know the types of exchanges
(`exchange/`), how things are declared (`topology/`), nor what a queue does with what reaches it.
"""
