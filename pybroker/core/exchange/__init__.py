"""Exchange types, one a file, over one base class."""
