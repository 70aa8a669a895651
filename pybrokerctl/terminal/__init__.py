"""The terminal: its size and colours, questions and spinners, screens that are drawn again and again.

Owns escape sequences. Does not know commands.
"""
