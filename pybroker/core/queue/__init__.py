"""A queue: its messages, the order in which it delivers them, and the limits by which it drops some.

Owns messages from `enqueue` until they are settled, and alone assigns the counts of them (`backlog`). Does not know
channels but by the state they share (`channel/`), exchanges, nor files: a log is what it is handed.
"""
