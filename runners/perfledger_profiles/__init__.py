"""Reads profiler files and explains step time; pure, without torch and without a device."""
