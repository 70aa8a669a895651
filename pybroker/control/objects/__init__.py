"""Objects as pybroker-web is told of them: the kinds there are, whom each is shown to, and readers of their facts.

The facts are the columns of listings and the figures of the metrics; only facts that no listing has are read here.
Loads nothing of the broker.
"""
