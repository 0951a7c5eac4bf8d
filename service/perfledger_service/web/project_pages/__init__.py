"""Owns the pages of a project that have their own data: events, costs and audit log."""
