"""Resources of the process and the system: memory, disk, garbage.

Owns the measurements and their times. Does not know the consequences of a shortage (`core/resources/`).
"""
