"""Owns the values that use cases pass to the renderings."""
