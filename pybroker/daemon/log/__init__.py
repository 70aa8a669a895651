"""The log and the audit log: where their lines go, and what they look like there. Knows nothing of what is logged."""
