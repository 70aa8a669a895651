"""How single commands' documents are shown to people; the table of them is in `call.py`."""
