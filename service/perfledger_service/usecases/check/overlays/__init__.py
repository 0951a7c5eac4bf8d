"""Owns what workloads of another revision or folder replace on both sides of a check."""
