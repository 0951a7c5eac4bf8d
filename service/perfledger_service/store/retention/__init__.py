"""Owns what is removed after its retention period: what may go, and its removal."""
