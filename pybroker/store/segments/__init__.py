"""The files of a log, and what is remembered of them: records, footers, checkpoints, and what lives in each.

Owns their octets beyond the single record, which is `format`'s. Does not know when anything is written or removed
(`journal/`), nor what damage means to a start (`recovery/`).
"""
