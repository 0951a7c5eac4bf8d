"""Owns the meters: each framework's clock, memory, counted work and profiler."""
