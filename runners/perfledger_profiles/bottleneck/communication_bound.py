"""Classifies why a step waits for its collectives."""

from perfledger.profile import Bucket, Profile
from perfledger_profiles.bottleneck.classification import BottleneckDetail
from perfledger_profiles.timeline.collective_sizes import MESSAGE_BYTES

# Readings of the step.
SKEW = "comm_start_skew"  # spread of the ranks' starts over the collective's time
CURVE_SHARE = "bus_bw_of_curve"  # bus bandwidth over the reference for that size
OVERLAP = "comm_overlap"

# A collective ends when its last rank arrives: the others' wait is not a transfer.
MAX_SKEW = 0.1
# Below this size the time is nearly constant: 35 us up to 64 KiB on 8 x A100.
SMALL_MESSAGE_BYTES = 2**20
# The share of the reference bandwidth above which the links count as full.
AT_BANDWIDTH = 0.7
# Below this share of overlap with compute, the collectives count as not overlapped.
MIN_OVERLAP = 0.3


def communication_detail(profile: Profile) -> BottleneckDetail:
    """Return why collectives limit the step, or NONE if the profile does not show it.

    Checked in this order: late ranks, messages too small for the links, full links, little overlap.
    """
    skew, message = profile.reading(SKEW), profile.reading(MESSAGE_BYTES)
    reached, overlap = profile.reading(CURVE_SHARE), profile.reading(OVERLAP)
    if skew is not None and skew > MAX_SKEW:
        return BottleneckDetail.STRAGGLER
    if message is not None and message < SMALL_MESSAGE_BYTES:
        return BottleneckDetail.SMALL_MESSAGES
    if reached is not None and reached >= AT_BANDWIDTH:
        return BottleneckDetail.BANDWIDTH
    has_compute = profile.bucket_seconds()[Bucket.COMPUTE] > 0
    if overlap is not None and overlap < MIN_OVERLAP and has_compute:
        return BottleneckDetail.NO_OVERLAP
    return BottleneckDetail.NONE
