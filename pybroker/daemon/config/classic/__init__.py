"""RabbitMQ's classic form of the configuration: Erlang terms, and the keys that they mean."""
