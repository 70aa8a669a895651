"""Questions of pybroker-web to the node. People use pybrokerctl instead."""
