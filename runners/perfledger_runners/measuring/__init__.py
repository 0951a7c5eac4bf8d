"""Owns what is measured on both sides: pairs, work counts, profiles and load."""
