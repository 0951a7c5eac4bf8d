"""Waits that a job log recorded, replays that fit them, and the devices that are enough."""
