"""Owns the machine's fingerprint, GPU facts and telemetry."""
