import pytest

from perfledger_runners.jobs.runner_deaths import JobStarts
from perfledger_runners.jobs.slot import MAX_KEPT_JOBS, RunnerNameError, open_slot


def test_a_runner_that_begins_again_has_the_lease_of_its_last_process(tmp_path):
    with open_slot(tmp_path, "box") as slot:
        lease = slot.state().lease
        slot.begin("job")
    with open_slot(tmp_path, "box") as slot:
        assert slot.state().lease == lease
        assert (slot.state().job_id, slot.state().starts) == ("job", 1)
        assert slot.begin("job").starts == 2
        assert slot.begin("other").starts == 1


def test_each_job_of_a_lease_is_submitted_under_a_name_of_its_own(tmp_path):
    with open_slot(tmp_path, "box") as slot:
        first, again, other = (slot.begin(job).submission for job in ("job", "job", "other"))

        assert first == again
        assert first != other


def test_a_slot_that_is_cleared_has_another_lease_and_no_files(tmp_path):
    with open_slot(tmp_path, "box") as slot:
        lease = slot.begin("job").lease
        for file in (slot.bundle, slot.spreads, slot.folder / ".bundle.json.x1"):
            file.write_text("{}")
        slot.clear()

        assert slot.state().lease != lease
        assert slot.state().job_id == ""
        assert {file.name for file in slot.folder.iterdir()} == {"job.json", "starts.json"}


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"lease": 1}'])
def test_a_state_that_is_not_whole_is_a_new_one(tmp_path, content):
    with open_slot(tmp_path, "box") as slot:
        (slot.folder / "job.json").write_bytes(content)

        assert slot.state() == slot.state()
        assert slot.state().job_id == ""


def test_two_runners_of_one_name_do_not_run_at_once(tmp_path):
    with (
        open_slot(tmp_path, "box"),
        open_slot(tmp_path, "other"),
        pytest.raises(RunnerNameError, match="another --name"),
        open_slot(tmp_path, "box"),
    ):
        pass


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "x" * 101])
def test_a_name_is_no_path(tmp_path, name):
    with (
        pytest.raises(RunnerNameError, match="not a valid name of a runner"),
        open_slot(tmp_path, name),
    ):
        pass


def test_how_often_the_runner_died_in_earlier_jobs_is_remembered(tmp_path):
    with open_slot(tmp_path, "box") as slot:
        for job_id in ("killed twice", "killed twice", "killed twice", "left", "left"):
            slot.begin(job_id)  # the lease brought another job: the runner died in both of "left"
        slot.clear(has_died=True)
        slot.begin("well")
        slot.clear()
        slot.clear()

        assert slot.earlier_starts() == (
            JobStarts(starts=3, deaths=3),
            JobStarts(starts=2, deaths=2),
            JobStarts(starts=1, deaths=0),
        )


def test_a_start_that_the_runner_survived_is_no_death(tmp_path):
    with open_slot(tmp_path, "box") as slot:
        slot.begin("job")
        slot.survive()

        assert slot.begin("job").starts == 1


def test_only_some_earlier_jobs_are_remembered(tmp_path):
    with open_slot(tmp_path, "box") as slot:
        for _ in range(MAX_KEPT_JOBS + 1):
            slot.begin("job")
            slot.clear()

        assert len(slot.earlier_starts()) == MAX_KEPT_JOBS


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'[{"starts": 1}]'])
def test_a_damaged_memory_of_earlier_jobs_is_none(tmp_path, content):
    with open_slot(tmp_path, "box") as slot:
        (slot.folder / "starts.json").write_bytes(content)

        assert slot.earlier_starts() == ()


@pytest.mark.parametrize(
    ("kills", "deaths"), [((0, 0, 0), 0), ((0, 1, 1), 1), ((5, 0, 1), 1), ((None, 3, None), 0)]
)
def test_a_start_in_which_memory_ran_out_is_counted(tmp_path, kills, deaths):
    with open_slot(tmp_path, "box") as slot:
        *_, state = [slot.begin("job", memory_kills=number) for number in kills]

        assert state.memory_deaths == deaths
