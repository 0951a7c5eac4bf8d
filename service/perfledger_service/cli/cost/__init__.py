"""Commands about the price of hours, work and changes."""
