"""What the operator of a service asks of it as a whole."""
