"""Messages of clients of either protocol as clients of the other one get them, converted when somebody reads them.

A stream keeps what came as it came. Does not know who reads, nor what a message of AMQP 1.0 is made of.
"""
