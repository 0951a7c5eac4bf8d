"""Measured load and detectable changes."""
