"""Owns the tables and queries of devices, their canaries and their quarantines."""
