"""Commands about the devices of a fleet and their use."""
