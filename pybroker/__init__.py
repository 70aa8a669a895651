"""pybroker: a RabbitMQ-compatible AMQP 0-9-1 broker. Importing it has no effect; `pybroker.daemon` is the program."""
