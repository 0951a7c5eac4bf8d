"""Finds events, follows their states, and lists those to decide."""
