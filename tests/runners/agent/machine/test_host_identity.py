"""Tests what identifies a host: its own id with its name, and nothing that others share."""

import pytest

from perfledger_runners.machine.host_identity import HOST_VARIABLE, host_identity
from perfledger_runners.proc_files import ProcFiles

MACHINE_ID = "0123456789abcdef" * 2


@pytest.fixture
def identity(tmp_path):
    """Identify a host by its files and its environment."""

    def identity(
        *,
        machine_id=MACHINE_ID,
        mounts="/dev/sda1 / ext4 rw 0 0\n",
        name="a",
        mark="",
        **other_files,
    ):
        texts = {"proc/self/mounts": mounts, "etc/machine-id": machine_id}
        for path, text in (texts | ({mark: ""} if mark else {})).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        files = ProcFiles(proc=tmp_path / "proc", root=tmp_path)
        return host_identity(other_files, files=files, name=name)

    return identity


def test_a_host_is_the_same_each_time_and_its_id_stays_private(identity):
    assert identity() == identity(machine_id=f"{MACHINE_ID}\n")
    assert len(identity()) == 12
    assert identity() not in MACHINE_ID


def test_copies_of_one_disk_are_different_hosts(identity):
    assert identity(name="a") != identity(name="b")
    assert identity(name="a") != identity(machine_id="f" * 32)


@pytest.mark.parametrize("machine_id", ["", "uninitialized", "0123", "\x00" * 32, "x" * 2**21])
def test_a_host_without_an_id_is_unknown(identity, machine_id):
    assert identity(machine_id=machine_id) == ""


@pytest.mark.parametrize(
    "container",
    [
        {"mounts": "overlay / overlay rw,lowerdir=/a 0 0\n"},
        {"mounts": "proc /proc proc rw 0 0\nimage / squashfs ro 0 0\n"},
        {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
        {"APPTAINER_CONTAINER": "/a.sif"},
        {"mark": ".dockerenv", "mounts": "tank/docker/4f2c / zfs rw 0 0\n"},
        {"mark": "run/.containerenv"},
    ],
)
def test_a_container_has_no_id_of_its_own_but_the_one_that_it_is_given(identity, container):
    assert identity(**container) == ""
    named = identity(**container, **{HOST_VARIABLE: "node-7"})
    assert named == identity(machine_id="", **{HOST_VARIABLE: " node-7 "})
    assert named != identity(**container, **{HOST_VARIABLE: "node-8"})


@pytest.mark.parametrize("mounts", ["", "\n", "a\n", "x / \n", "/\x00 / ext4"])
def test_mounts_that_cannot_be_read_hide_no_host(identity, mounts):
    assert identity(mounts=mounts)


def test_a_name_of_bad_bytes_is_a_name(identity):
    assert identity(**{HOST_VARIABLE: "a\udcff"}) != identity(**{HOST_VARIABLE: "a"})
