"""What the service does with its queue for runners."""
