from perfledger_service.values.jobs.progress import JobStage


def test_what_has_ended_is_not_open():
    closed = {stage for stage in JobStage if not stage.is_open}

    assert closed == {JobStage.NOT_QUEUED, JobStage.DONE, JobStage.DROPPED}
