"""Owns the pages of a project that have data of their own: events, costs and audit log."""
