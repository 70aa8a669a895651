"""Situations of the runbook, a file for each symptom.

`SYMPTOM` is the title of the entry. `prepare(node)` brings a new node into the situation; it may yield once, to keep
clients while the commands run. `FAILS` says which commands end with another exit code than 0 there, as the page tells.
"""
