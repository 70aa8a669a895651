"""Recordings of clients of RabbitMQ's HTTP API, with the members of answers that they read, and their replay."""
