"""Pure pricing models: turn device time and price sheets into Decimal costs with their sources."""
