"""The log on disk and backups of the data folder."""
