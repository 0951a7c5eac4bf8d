"""Owns who may use which route, and how people sign in."""
