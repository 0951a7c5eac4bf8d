"""Owns the database: tables, migrations, and queries that return values."""
