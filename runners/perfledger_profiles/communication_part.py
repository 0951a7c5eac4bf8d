"""Turn what a profile says of its collectives into which kind of waiting for them it is."""

from perfledger.profile import Bucket, Profile
from perfledger_profiles.bottleneck import Detail

# Readings, of the step.
SKEW = "comm_start_skew"  # how far apart the ranks start, over the collective's time
MESSAGE_BYTES = "comm_message_bytes"  # of the collective that takes the median of the time
CURVE_SHARE = "bus_bw_of_curve"  # bus bandwidth over the kept one for that size
OVERLAP = "comm_overlap"

# A collective ends when its last rank has come: what the others wait is no transfer.
MAX_SKEW = 0.1
# Below it the time does not depend on the size: it is flat at 35 us up to 64 KiB on 8 x A100.
SMALL_MESSAGE_BYTES = 2**20
# Of what the same machines reached for that size: there is not much more to have.
AT_BANDWIDTH = 0.7
# Less of the collectives' time runs beside compute, which is there to run beside.
MIN_OVERLAP = 0.3


def communication_detail(profile: Profile) -> Detail:
    """Return why collectives hold the step back, NONE where the profile does not tell.

    Ranks that come late, else messages too small for the links, else links that are full, else
    nothing that runs meanwhile.
    """
    skew, message = profile.reading(SKEW), profile.reading(MESSAGE_BYTES)
    reached, overlap = profile.reading(CURVE_SHARE), profile.reading(OVERLAP)
    if skew is not None and skew > MAX_SKEW:
        return Detail.STRAGGLER
    if message is not None and message < SMALL_MESSAGE_BYTES:
        return Detail.SMALL_MESSAGES
    if reached is not None and reached >= AT_BANDWIDTH:
        return Detail.BANDWIDTH
    has_compute = profile.bucket_seconds()[Bucket.COMPUTE] > 0
    if overlap is not None and overlap < MIN_OVERLAP and has_compute:
        return Detail.NO_OVERLAP
    return Detail.NONE
