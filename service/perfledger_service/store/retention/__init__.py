"""Owns what is removed after its retention period: what may go, its removal, and its record."""
