"""Owns capacity planning: how many devices are needed, and the effect of a policy."""
