"""Holds the patterns of AWS's usage types and descriptions that name an instance."""

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
# FOCUS 1.0 has the instance in AWS's description alone: "$6.88 per On Demand Linux p5.4xlarge
# Instance Hour", "p5.4xlarge Linux/UNIX Spot Instance-hour in ...".
DESCRIPTION = re.compile(
    r".* per (?:On Demand|(?P<unused>Unused Reservation)) [^,]{1,60} "
    r"(?P<instance>\S+) Instance Hour"
    r"|(?:.*, )?(?P<other>[a-z0-9-]+\.[a-z0-9]+) "
    r"(?:[^,]{1,40} Spot Instance-hour in .*|reserved instance applied)"
)
MAX_DESCRIPTION = 500  # of an instance's hours; AWS's have about 80 characters
