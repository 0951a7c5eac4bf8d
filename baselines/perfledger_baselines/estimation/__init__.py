"""Estimates one value per process from its samples, and pairs the values of base and head."""
