"""Statistics: the figures that a node shows of itself, of its queues, exchanges, connections and channels.

Owns no counter: nouns count what happens to them. Does not know who asks, how often, or in which form.
"""
