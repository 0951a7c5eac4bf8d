"""Owns the readers of other benchmark tools' histories, which all return the same values."""
