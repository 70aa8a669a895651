"""Definitions: nouns as rows when they are made, changed and removed, and nouns again at boot.

Owns what a row says. Does not know what the file of rows is made of (`store/`), and checks nothing that a declaration
has checked.
"""
