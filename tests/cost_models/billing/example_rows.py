"""Cells of bills, written by hand in the shape of FOCUS 1.2."""

# Two hours of an instance on demand; which one is said in various columns.
TWO_HOURS = {
    "BillingCurrency": "USD",
    "BilledCost": "110.08",
    "ChargeCategory": "Usage",
    "ChargePeriodStart": "2026-10-01T00:00:00Z",
    "ChargePeriodEnd": "2026-10-01T02:00:00Z",
    "EffectiveCost": "110.08",
    "PricingCategory": "Standard",
    "PricingQuantity": "2",
    "PricingUnit": "Hours",
    "ProviderName": "AWS",
    "RegionId": "us-east-1",
    "SubAccountName": "research",
}
