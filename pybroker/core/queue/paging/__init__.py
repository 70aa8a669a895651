"""Contents of a backlog that leave memory, and come back before they are due.

Owns what stands in a level for messages whose contents are on disk. Does not know consumers, nor when memory is short:
that is `resources/pressure`.
"""
