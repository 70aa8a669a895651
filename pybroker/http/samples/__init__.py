"""Samples: figures of the node and its objects over time, and the rates that follow from them.

The node and the virtual hosts are looked at every five seconds, on the wall clock's grid. Objects are looked at when
somebody asks for them: what nobody watches costs nothing. Knows neither requests nor documents.
"""
