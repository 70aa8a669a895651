"""Tools for a data folder, outside the node: verify, repair, back up.

Owns their reports. Does not know who asked, nor how a report is shown.
"""
