"""The history of the tables, from nothing to `tables`, as Alembic runs it."""
