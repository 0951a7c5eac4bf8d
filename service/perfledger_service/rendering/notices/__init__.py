"""Renders notices about events, old prices and reviews."""
