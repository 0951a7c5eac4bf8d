"""Owns the pages of the service: accounts, administration, errors, machines and search."""
