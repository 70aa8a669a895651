"""Runtime parameters and global parameters."""
