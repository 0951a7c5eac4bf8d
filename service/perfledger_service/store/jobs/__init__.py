"""Tables and queries of the queue for runners."""
