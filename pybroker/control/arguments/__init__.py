"""Arguments that several commands share: names to look up, sizes, passwords, policies.

Owns how such an argument is read, and the refusal of a wrong one. Does not know options of the command line.
"""
