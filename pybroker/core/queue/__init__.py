"""A queue: what it holds, in which order it gives it out, and when it drops some of it.

Owns messages from `enqueue` until they are settled, and alone assigns the counts of them (`backlog`). Does not know
channels but by the state they share (`channel/`), exchanges, nor files: a log is what it is handed.
"""
