"""Recovery of the log at a start: live messages, missing segments, damage.

Owns the distinction between a torn end and damage, and the folder that keeps damaged octets. Knows queues only by id.
Does not know the engine that goes on from here (`journal/`).
"""
