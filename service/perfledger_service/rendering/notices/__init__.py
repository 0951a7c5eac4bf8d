"""Renders notices about events, and lists of them."""
