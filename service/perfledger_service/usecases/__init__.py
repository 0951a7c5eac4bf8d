"""Use cases: each loads values, calls the pure core, and stores and returns the result."""
