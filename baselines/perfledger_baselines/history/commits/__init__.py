"""Attributes changes to commits, groups them into events, and confirms them by A/B runs."""
