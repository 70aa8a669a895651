"""The door of the stream protocol: sessions, publishers, subscriptions, and what is told of streams.

Knows frames and what they mean; does not know sockets, nor how a stream keeps its messages.
"""
