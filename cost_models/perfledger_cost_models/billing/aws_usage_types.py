"""Holds the patterns of AWS's usage types, operations and descriptions of an instance's hours."""

import re

# AWS's rows name their instance only in the usage type: "USE1-BoxUsage:p5.48xlarge". Other usage
# types with an instance are not its hours: "EBSOptimized:p4d.24xlarge" is charged on top.
METER = re.compile(
    r"(?:[A-Z0-9]+-)?(?:BoxUsage|SpotUsage|DedicatedUsage|(?P<unused>UnusedBox|UnusedDed))"
    r":(?P<instance>.+)"
)
# A capacity block is paid by a fee, "USE2-CapacityBlockFee:p5.48xlarge", when it is bought. AWS
# does not spread it over the block's hours, which cost nothing.
BLOCK_FEE = re.compile(r"(?:[A-Z0-9]+-)?CapacityBlockFee:(?P<instance>.+)")
# The fee of a savings plan for a family of instances: "USE1-EC2SP:p5.1yrNoUpfront".
FAMILY_FEE = re.compile(r"(?:[A-Z0-9]+-)?EC2SP:(?P<family>[a-z0-9-]+\.)\w+")
# Usage types charged on top of an instance's own row. A whole capacity reservation has a row beside
# those of its used and its unused hours.
SURCHARGE_METER = re.compile(
    r"(?:[A-Z0-9]+-)?(?:EBSOptimized|Reservation|DedicatedRes|EKS-Auto)\b.*"
)
# AWS's price list has an instance's hours apart for each operation: "RunInstances" on demand (also
# "RunInstances:0010", with another system), "RunInstances:CB" in a capacity block.
OPERATION = re.compile(r"RunInstances(?::[0-9A-Za-z]{4})?(?P<block>:CB(?::[0-9A-Za-z]{4})?)?")
# FOCUS 1.0 has the instance in AWS's description alone: "$6.88 per On Demand Linux p5.4xlarge
# Instance Hour", "$0.00 per Capacity Block Linux p5.48xlarge Instance Hour", "p5.4xlarge
# Linux/UNIX Spot Instance-hour in ...".
DESCRIPTION = re.compile(
    r".* per (?:(?P<on_demand>On Demand)|(?P<block>Capacity Block)|(?P<unused>Unused Reservation)) "
    r"[^,]{1,60} "
    r"(?P<instance>\S+) Instance Hour"
    r"|(?:.*, )?(?P<other>[a-z0-9-]+\.[a-z0-9]+) "
    r"(?:[^,]{1,40} Spot Instance-hour in .*|reserved instance applied)"
)
MAX_DESCRIPTION = 500  # of an instance's hours; AWS's have about 80 characters
