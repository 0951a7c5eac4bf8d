"""Defines notices, and the messages sent for them."""
