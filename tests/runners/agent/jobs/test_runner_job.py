from perfledger_runners.jobs.runner_job import RunnerJobState


def test_a_job_is_open_until_it_ended():
    assert {state for state in RunnerJobState if state.is_open} == {"queued", "leased"}
