from perfledger.step_evidence import StepEvidence


def test_a_reading_takes_as_long_as_all_of_its_steps():
    assert StepEvidence(steps_per_reading=20).seconds_of((0.25, 0.5)) == 15.0
    assert StepEvidence().seconds_of(()) == 0
