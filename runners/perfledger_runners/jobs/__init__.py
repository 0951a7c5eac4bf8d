"""What a service's queue asks a runner to do, and how a runner does it."""
