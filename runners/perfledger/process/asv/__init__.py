"""Collects the benchmarks of asv."""
