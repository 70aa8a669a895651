"""Message traces: follow single messages for an operator who wants to know where they go.

Owns the messages that are followed, the events, and the search for matching bindings. It observes messages through the
hook points of the firehose only, so it costs nothing while it is off. Knows neither commands nor how events are shown.
"""
