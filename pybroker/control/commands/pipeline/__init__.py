"""The data pipeline, and the reports it makes."""
