"""Explaining: profiler files in, profiles and causes out. Pure; needs no torch and no device."""
