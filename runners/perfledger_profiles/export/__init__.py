"""Owns the export of recordings to other viewers' formats."""
