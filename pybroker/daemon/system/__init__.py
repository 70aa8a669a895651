"""The system around the process: its signals, and the service manager that may have started it."""
