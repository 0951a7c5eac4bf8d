"""Owns the inputs that several use cases read: files, histories, bundles, prices and imports."""
