"""Definitions on their way in and out: RabbitMQ's JSON documents, what they would change here, and that change.

Owns the form of the documents, and the order of a change. Does not know where a document comes from or goes to.
"""
