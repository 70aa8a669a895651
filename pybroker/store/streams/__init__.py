"""The files of streams: chunks in segments, found by offset and by time. Knows no brokers and no AMQP methods."""
