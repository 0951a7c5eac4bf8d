"""Checks of steps beside other load."""

from dataclasses import replace

import numpy as np
import pytest

from perfledger.bundle import Plan
from perfledger.records import CoreTimes, Side
from perfledger_baselines.judging.judge import judge_bundle
from tests.baselines.judging.decision.loaded_steps import MARGIN, PAIRS, TURNS


@pytest.fixture(scope="session")
def verdicts_of(build):
    """Return a function that measures two steps beside load and judges the check."""

    def run(step, rng, side, pair, load):
        def noise():
            return np.exp(0.003 * rng.standard_normal(TURNS))

        cpu = step.cpu * noise()
        helpers, off = step.helpers * noise(), step.off * noise()
        # Other programs take a core for a time of their own.
        queued = load * step.cpu * rng.exponential(1.0, TURNS) * rng.integers(0, 2, TURNS)
        queued += step.own_queue
        elapsed = cpu + off + queued
        return replace(
            build.run(
                side=side,
                pair=pair,
                process=2 * pair,
                step_time_p50=tuple(elapsed.tolist()),
                cpu_time=tuple((cpu + helpers).tolist()),
            ),
            turns=(1,) * TURNS,
            core_times=CoreTimes(
                elapsed_s=tuple(elapsed.tolist()),
                queued_s=tuple(queued.tolist()),
                helpers_s=tuple(helpers.tolist()),
                helper_waits_s=tuple(np.minimum(off, step.helper_wait).tolist()),
                unseen_waits_s=tuple((step.is_unseen * np.minimum(off, step.helper_wait)).tolist()),
            ),
        )

    def verdicts_of(
        base, head, *, seed=0, load=2.0, change=lambda run: run, metrics=(), findings=()
    ):
        rng = np.random.default_rng(seed)
        runs = tuple(
            change(run(step, rng, side, pair, load))
            for pair in range(PAIRS)
            for side, step in ((Side.BASE, base), (Side.HEAD, head))
        )
        plan = Plan(seed=1, order=(), looks=(4, 6, 8, PAIRS), margin=MARGIN)
        bundle = build.bundle({"m:f": {}}, plan=plan, runs=runs)
        bundle = replace(bundle, metrics=(*bundle.metrics, *metrics), host_findings=findings)
        verdicts = judge_bundle(bundle)
        return {verdict.metric: verdict for verdict in verdicts}

    return verdicts_of
