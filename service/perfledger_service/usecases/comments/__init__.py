"""What people command in comments under a pull request."""
