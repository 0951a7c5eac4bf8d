"""Alembic's migrations, from an empty database to the current tables."""
