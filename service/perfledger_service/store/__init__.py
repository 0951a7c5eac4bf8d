"""The database: tables, and functions from sessions to values and back."""
