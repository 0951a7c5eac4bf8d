"""The documents of the quarterly review."""
