"""Owns the inputs shared by use cases: files, histories, bundles, prices and imports."""
