"""Pure pricing models: device time and price sheets in, costs in Decimal with their sources out."""
