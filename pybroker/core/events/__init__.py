"""Events: their names, their facts, and who caused them.

Owns RabbitMQ's names and headers of events, and the lines of the audit log. Does not know who listens: messages of the
event exchange are made in `exchange/event_exchange`.
"""
