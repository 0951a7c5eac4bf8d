"""The quarterly procurement review as a value."""
