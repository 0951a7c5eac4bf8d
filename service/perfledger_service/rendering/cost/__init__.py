"""What hours, work, changes and energy cost."""
