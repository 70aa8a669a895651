"""Columns: rows of the pipeline's tables as Arrow's columns, in this process and in Spark's tasks."""
