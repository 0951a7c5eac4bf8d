"""Owns the agent, which measures two checkouts in child processes of the user's Python."""
