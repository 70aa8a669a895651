"""Deliveries as columns: from octets of many frames at once to Arrow's arrays.

Owns the schema that users see. Does not know queues, nor when anything is acknowledged.
"""
