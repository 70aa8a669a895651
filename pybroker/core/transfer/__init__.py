"""Definitions on their way in and out: RabbitMQ's JSON documents, what they would change here, and that change."""
