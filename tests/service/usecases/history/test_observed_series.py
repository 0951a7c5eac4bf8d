import math
from dataclasses import replace

from perfledger.metrics import STEP_TIME, family_metric
from perfledger_baselines.history.commits.attribution import Series
from perfledger_service.store.default_branch import BranchSeries
from perfledger_service.usecases.history.observed_series import epochs_of, observed_series

WORKLOAD = "gpt:step"


def test_a_family_that_is_gone_for_good_begins_an_epoch_without_its_noise():
    family = BranchSeries(
        id=1,
        series=Series(WORKLOAD, family_metric("gelu"), "cpu:Test CPU:1"),
        positions=tuple(range(60)),
        values=(*(1e-3 * (1 + 0.02 * (place % 7)) for place in range(35)), *[0.0] * 25),
        environments=("same",) * 60,
        devices=("",) * 60,
        times=(math.nan,) * 60,
    )
    speed = replace(family, series=replace(family.series, metric=STEP_TIME))

    (observed,) = observed_series([family])

    assert epochs_of(family) == (35,)
    assert epochs_of(speed) == ()
    assert [(one.index, one.change) for one in observed.changes] == [(35, -1.0)]
