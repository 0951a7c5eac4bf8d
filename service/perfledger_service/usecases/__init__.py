"""What perfledger does: load values, call the pure core, store and say the result."""
