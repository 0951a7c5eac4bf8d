"""Owns the tables and queries of the queue for runners."""
