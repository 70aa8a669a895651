"""One file a command, and the ordered table of them."""
