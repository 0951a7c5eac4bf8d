"""How long submissions of these tests may wait and run."""

from perfledger_runners.launchers.launcher import SubmissionLimits

LIMITS = SubmissionLimits(wait_s=3600.0, run_s=600.0)
