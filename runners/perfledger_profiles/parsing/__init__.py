"""Owns the parsing of untrusted files for all readers: limits, text, tables, JSON, names."""
