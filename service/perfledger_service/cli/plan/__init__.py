"""Commands about how many devices are enough."""
