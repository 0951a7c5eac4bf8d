"""What retention removed: the records that stay of uploads and events, and what reads them."""
