import math

import pytest

from perfledger_profiles.bottleneck.classification import Bottleneck, BottleneckShare


@pytest.mark.parametrize(("share", "ceiling"), [(0.0, 1.0), (0.75, 4.0), (1.0, math.inf)])
def test_the_ceiling_is_amdahls_bound(share, ceiling):
    candidate = BottleneckShare(
        bottleneck=Bottleneck.INPUT, share=share, is_high=False, is_moderate=False
    )

    assert candidate.ceiling == ceiling
