"""The report that all example reports begin with."""

from perfledger.bundle import Plan
from perfledger.records import Revision
from perfledger_service.values.report import Conclusion, ExitCode, Report


def basis(make):
    return Report(
        bundle_id="0f9d2c4b6a8e4f7d9c1b3a5e7f902468",
        created_at="2026-11-20T14:03:27+00:00",
        repository="acme/models",
        pull_request=41,
        base=Revision(
            sha="8c1f0a2b3c4d5e6f708192a3b4c5d6e7f8091a2b", ref="main", subject="Bump the tokenizer"
        ),
        head=Revision(
            sha="d41e7b9a0c2f4e6d8b1a3c5e7f9012345678abcd",
            ref="tidy-attention",
            subject="Tidy the attention block",
        ),
        machine=make.H100,
        plan=Plan(
            seed=20261120,
            order=("base", "head", "head", "base", "base", "head"),
            looks=(4, 6, 8, 11, 15, 20),
        ),
        workloads=make.SPECS,
        verdicts=(),
        failures=(),
        new_workloads=(),
        skipped=(),
        explanations=(),
        unit_costs=(),
        change_prices=(),
        conclusion=Conclusion.SUCCESS,
        exit_code=ExitCode.OK,
        title="Performance unchanged",
        headline="",
        is_local=False,
    )
