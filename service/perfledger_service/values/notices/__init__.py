"""Owns notices, and the messages sent for them."""
