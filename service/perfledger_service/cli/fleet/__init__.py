"""Commands about the devices of a fleet and who uses them."""
