"""What a start makes of the log it finds: what lives, what is missing, what is damaged.

Owns the judgement of a torn end and of damage, and the folder that keeps damaged octets. Does not know queues but by
id, nor the engine that goes on from here (`journal/`).
"""
