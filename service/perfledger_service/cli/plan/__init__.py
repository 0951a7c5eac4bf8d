"""Commands for capacity planning."""
