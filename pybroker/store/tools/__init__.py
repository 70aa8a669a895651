"""What operators do with a data folder, beside the node: verify, repair, back up.

Owns the reports of these. Does not know who asked, nor how a report is shown.
"""
