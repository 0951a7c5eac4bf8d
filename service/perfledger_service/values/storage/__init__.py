"""Owns the values about what the service stores: how long it is kept, and what was removed."""
