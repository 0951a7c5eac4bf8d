"""Decides which events to send notices of, and sends one per cause to each target."""
