import fcntl
import json
import math
import stat
import threading

import pytest

from perfledger_runners.environments.cache import (
    COMPLETE_FILE,
    PRIVATE_FILE,
    EntryLock,
    EnvironmentCache,
    built_at,
)


class Builder:
    """A build that writes a file, and counts how often it ran."""

    def __init__(self, *, size=1, is_reusable=True):
        self.size = size
        self.is_reusable = is_reusable
        self.runs = 0

    def __call__(self, entry):
        assert list(entry.iterdir()) == []
        self.runs += 1
        (entry / "content").write_bytes(b"x" * self.size)
        return self.is_reusable


@pytest.fixture
def cache(tmp_path):
    return EnvironmentCache(folder=tmp_path / "cache", max_age_s=100.0, max_bytes=1000)


def at(cache, seconds):
    """Return the cache at another time."""
    return EnvironmentCache(
        folder=cache.folder, max_age_s=cache.max_age_s, max_bytes=1000, clock=lambda: seconds
    )


def use(cache, key, build):
    with cache.entry(key, build) as entry:
        return (entry / "content").read_bytes()


def keys(cache):
    return {path.name for path in cache.folder.iterdir() if path.is_dir()}


def test_an_entry_is_built_once_and_used_again(cache):
    build = Builder()

    assert [use(cache, "a", build), use(cache, "a", build)] == [b"x", b"x"]
    assert build.runs == 1


def test_a_renewed_entry_is_built_again_and_used_from_then_on(cache):
    with at(cache, 10.0).entry("a", Builder()) as old:
        with at(cache, 20.0).entry("a", Builder(), is_renewed=True) as new:
            assert new != old
            assert (built_at(old), built_at(new)) == (10.0, 20.0)
        with at(cache, 30.0).entry("a", Builder()) as again:
            assert again == new


def test_the_time_of_an_entry_that_no_other_check_can_use_is_unknown(cache):
    with cache.entry("a", Builder(is_reusable=False)) as entry:
        assert built_at(entry) == math.inf


def test_an_entry_of_an_earlier_version_counts_as_old(cache):
    use(cache, "a", Builder())
    (cache.folder / "a" / COMPLETE_FILE).write_text('{"bytes": 1}')

    assert built_at(cache.folder / "a") == 0.0


def test_entries_of_other_inputs_are_others(cache):
    build = Builder()
    use(cache, "a", build)
    use(cache, "b", build)

    assert build.runs == 2
    assert keys(cache) == {"a", "b"}


def test_a_half_built_entry_is_built_anew(cache):
    def die(entry):
        (entry / "half").write_text("")
        (entry / "sub").mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use(cache, "a", die)
    assert keys(cache) == set()
    (cache.folder / "a").mkdir()
    (cache.folder / "a" / "half").write_text("")  # the process was killed

    assert use(cache, "a", Builder()) == b"x"


def test_an_entry_that_cannot_be_used_again_is_gone_afterwards(cache):
    build = Builder(is_reusable=False)

    use(cache, "a", build)
    use(cache, "a", build)

    assert build.runs == 2
    assert keys(cache) == set()


def test_two_checks_at_once_build_once(cache):
    build = Builder()
    threads = [threading.Thread(target=use, args=(cache, "a", build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert build.runs == 1


def test_two_checks_use_an_entry_at_once(cache):
    use(cache, "a", Builder())

    with cache.entry("a", Builder()) as first, cache.entry("a", Builder()) as second:
        assert first == second


def test_entries_that_nobody_used_for_long_are_removed(cache):
    use(at(cache, 1000.0), "old", Builder())
    use(at(cache, 1000.0), "used", Builder())
    use(at(cache, 1060.0), "used", Builder())

    at(cache, 1110.0).clean()

    assert keys(cache) == {"used"}


def test_the_longest_unused_entries_are_removed_beyond_the_size(cache):
    for second, key in enumerate("abc"):
        use(at(cache, 1000.0 + second), key, Builder(size=400))

    at(cache, 1010.0).clean()

    assert keys(cache) == {"b", "c"}


def test_an_entry_in_use_is_never_removed(cache):
    with at(cache, 1000.0).entry("a", Builder()) as entry:
        at(cache, 5000.0).clean()

        assert (entry / COMPLETE_FILE).exists()


def test_an_entry_that_is_being_built_is_left_alone_and_a_dead_one_removed(cache):
    for key in ("building", "dead"):
        (cache.folder / key).mkdir(parents=True)
    with (cache.folder / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cache.clean()

    assert keys(cache) == {"building"}


def test_a_damaged_mark_counts_as_half_built(cache):
    use(cache, "a", Builder())
    (cache.folder / "a" / COMPLETE_FILE).write_text("[]")

    cache.clean()

    assert keys(cache) == set()


def test_cleaning_a_cache_that_is_not_there_does_nothing(cache):
    cache.clean()

    assert not cache.folder.exists()


def test_an_entry_for_one_use_keeps_nobody_waiting(cache):
    build = Builder(is_reusable=False)

    with cache.entry("a", build) as first, cache.entry("a", build) as second:
        assert first != second
        assert (first / "content").read_bytes() == (second / "content").read_bytes() == b"x"
        cache.clean()
        assert first.exists()
        assert second.exists()

    assert build.runs == 2
    assert keys(cache) == set()
    assert [path.name for path in cache.folder.iterdir()] == ["a.lock"]


def test_what_a_killed_process_left_of_its_own_entry_is_built_anew(cache):
    left = cache.folder / "a"
    left.mkdir(parents=True)
    (left / PRIVATE_FILE).touch()
    build = Builder()

    assert use(cache, "a", build) == b"x"
    assert use(cache, "a", build) == b"x"
    assert build.runs == 1


@pytest.mark.parametrize(("days", "is_kept"), [(30.0, True), (30.001, False)])
def test_entries_are_kept_for_the_documented_thirty_days(tmp_path, days, is_kept):
    used_at = 1_000_000.0
    use(EnvironmentCache(folder=tmp_path, clock=lambda: used_at), "a", Builder())

    EnvironmentCache(folder=tmp_path, clock=lambda: used_at + days * 86_400).clean()

    assert keys(EnvironmentCache(folder=tmp_path)) == ({"a"} if is_kept else set())


@pytest.mark.parametrize(("extra", "is_kept"), [(0, True), (1, False)])
def test_entries_are_kept_up_to_the_documented_twenty_gibibytes(tmp_path, extra, is_kept):
    cache = EnvironmentCache(folder=tmp_path)
    use(cache, "a", Builder())
    (tmp_path / "a" / COMPLETE_FILE).write_text(json.dumps({"bytes": 20 * 2**30 + extra}))

    cache.clean()

    assert keys(cache) == ({"a"} if is_kept else set())


def test_other_users_cannot_read_environments(tmp_path):
    cache = EnvironmentCache(folder=tmp_path / "cache")
    use(cache, "a", Builder())

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (cache.folder, cache.folder / "a")}
    assert modes == {0o700}


def test_the_lock_of_a_removed_entry_goes_with_it_and_so_do_older_locks(cache):
    use(at(cache, 0), "a", Builder())
    (cache.folder / "left.lock").touch()

    at(cache, 101.0).clean()

    assert list(cache.folder.iterdir()) == []


def test_the_lock_of_an_entry_that_is_being_built_stays(cache):
    def build(entry):
        (entry / "content").touch()
        cache.clean()
        assert (cache.folder / "a.lock").exists()
        return True

    use(cache, "a", build)

    assert keys(cache) == {"a"}


def test_a_lock_whose_file_was_removed_is_taken_on_the_file_that_others_see(tmp_path):
    path = tmp_path / "a.lock"
    with EntryLock(path) as first, EntryLock(path) as second:
        path.unlink()

        assert second.is_taken(fcntl.LOCK_EX)  # on a new file
        assert not first.is_taken(fcntl.LOCK_EX)
