"""Owns retention: decides what may be removed after its retention period, and removes it."""
