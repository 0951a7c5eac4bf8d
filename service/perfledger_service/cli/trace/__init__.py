"""Commands about profiler files."""
