"""Message traces: the lives of single messages, for an operator who asks where one went.

It owns what is followed, the events that tell it, and which binding matched. It sees messages through the firehose's
hook points alone, so that nothing costs anything while nobody asks. Knows neither commands nor how events are shown.
"""
