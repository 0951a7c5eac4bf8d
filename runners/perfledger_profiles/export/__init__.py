"""Owns the export of recordings to other viewers' file formats."""
