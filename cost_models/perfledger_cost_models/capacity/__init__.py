"""Waits that a job log recorded, replays that reproduce them, and the devices that suffice."""
