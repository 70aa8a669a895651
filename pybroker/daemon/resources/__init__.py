"""What the process and the system have left: memory, disk, garbage.

Owns the measuring, and when it is done. Does not know what is done when something is short (`core/resources/`).
"""
