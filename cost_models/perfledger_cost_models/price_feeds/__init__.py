"""Readers of the price lists that AWS, Azure and Google publish."""
