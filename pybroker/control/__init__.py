"""The control protocol: command specifications, codec, server."""
