"""The live formula of each size is the model with that number of devices."""

import numpy as np
import pytest

from perfledger_cost_models.formula import value_of
from perfledger_cost_models.procurement.decision import evaluate_at_modes
from perfledger_service.rendering.review.sweep_sheet import npv_at


def test_the_formula_of_a_size_has_none_of_the_options_own_lines(make_review):
    review = make_review()
    likely = evaluate_at_modes(review.model)

    for sweep in review.sweeps:
        formula = npv_at(review.model, sweep.option, devices="size")
        own = {
            name for name in likely if name.startswith(f"{sweep.option.key}_") and "paid" in name
        }
        assert not any(name in formula for name in own)
        for one in sweep.sizes[1:4]:
            usd = value_of(formula, likely | {"size": np.array([float(one.devices)])})
            assert float(usd[0]) == pytest.approx(float(one.npv), rel=1e-12)
