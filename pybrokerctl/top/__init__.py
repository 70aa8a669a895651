"""top: the node's activity, live. snapshot.py measures, board.py remembers what one looks at, draw.py shows it."""
