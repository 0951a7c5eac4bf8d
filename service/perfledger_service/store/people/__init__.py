"""Owns the rows of people: persons, sessions, roles and the audit log."""
