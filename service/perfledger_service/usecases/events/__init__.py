"""Finds events, follows their states, and lists what there is to decide."""
