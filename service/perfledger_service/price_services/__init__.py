"""Owns the access to the providers' public price services."""
