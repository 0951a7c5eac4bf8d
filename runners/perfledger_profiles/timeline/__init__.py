"""Owns the trace as intervals on a timeline, and every metric measured on it."""
