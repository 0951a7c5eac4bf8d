"""Owns the reader of XLA's xplane files and HLO text."""
