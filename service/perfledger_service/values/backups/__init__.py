"""What a backup of the service says of itself."""
