"""Owns the parsing of untrusted files that all readers share: limits, text, tables, JSON, names."""
