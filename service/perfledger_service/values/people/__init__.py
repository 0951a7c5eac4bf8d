"""Owns the values about people: who they are, their roles and what they did."""
