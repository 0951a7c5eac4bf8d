"""Pricing: device time and a price sheet in, money with its source out. Pure; money is Decimal."""
