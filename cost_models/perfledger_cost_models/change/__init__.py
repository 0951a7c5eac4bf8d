"""What a change costs a year on the fleet, and what the policies say about it."""
