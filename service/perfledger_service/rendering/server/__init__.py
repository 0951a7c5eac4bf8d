"""What the commands of `perfledger server` print."""
