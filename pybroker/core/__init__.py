"""The broker: plain objects, no I/O. Never blocks, never switches greenlets, so every call is atomic."""
