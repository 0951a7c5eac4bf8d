"""Owns the variants of a step: what torch, JAX and inference engines make of it."""
