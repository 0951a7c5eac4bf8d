"""Owns what a registration may say: arguments, a timed statement, variants, patterns of ids."""
