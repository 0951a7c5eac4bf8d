"""Owns the service's queue of runner jobs."""
