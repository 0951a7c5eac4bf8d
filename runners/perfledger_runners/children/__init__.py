"""Owns child processes of the user's Python, and the parsing of their messages."""
