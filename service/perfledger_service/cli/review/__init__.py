"""The command that writes the quarterly review."""
