"""Owns the values that describe a backup of the service."""
