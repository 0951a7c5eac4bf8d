"""Decides which events people are told of, and sends one notice per cause to each target."""
