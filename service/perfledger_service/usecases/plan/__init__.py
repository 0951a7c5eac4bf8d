"""Owns capacity planning: how many devices are enough, and what a policy would change."""
