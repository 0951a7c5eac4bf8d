import pytest

from perfledger.records import Framework, WorkloadSpec
from perfledger_runners.children.launch import TORCHRUN, Launch, LaunchError, launch_of


def spec(**changes):
    return WorkloadSpec(id="bench:train", module="bench", function="train", **changes)


@pytest.fixture
def programs(tmp_path):
    """An environment with launchers on PATH, and an interpreter with torchrun beside it."""
    for name in ("bin/mpirun", "bin/torchrun", "venv/torchrun", "venv/python"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.touch(mode=0o755)
    return tmp_path


def words(programs, command, devices=2):
    launch = Launch(command, devices, Framework.TORCH)
    return launch.words(programs / "venv" / "python", {"PATH": str(programs / "bin")})


def test_one_device_needs_no_launch():
    assert launch_of(spec(framework=Framework.TORCH), "mpirun -n {devices}") is None


@pytest.mark.parametrize(
    ("default", "framework", "launch"),
    [
        ("", Framework.TORCH, Launch(TORCHRUN, 1, Framework.TORCH)),
        ("srun", Framework.JAX, Launch("srun", 1, Framework.JAX)),
        ("", Framework.JAX, None),
        ("", Framework.HOST, None),
    ],
)
def test_one_device_of_a_grid_is_started_as_its_other_numbers_are(default, framework, launch):
    assert launch_of(spec(params={"devices": 1}, framework=framework), default) == launch


@pytest.mark.parametrize(
    ("own", "default", "framework", "command"),
    [
        ("mpirun -n {devices}", "srun", Framework.TORCH, "mpirun -n {devices}"),
        ("", "srun", Framework.TORCH, "srun"),
        ("", "", Framework.TORCH, TORCHRUN),
        ("", "", Framework.JAX, ""),
        ("", "", Framework.HOST, ""),
    ],
)
def test_the_own_command_comes_before_the_configured_one_and_the_usual_one(
    own, default, framework, command
):
    launch = launch_of(spec(devices=4, launch=own, framework=framework), default)

    assert launch == Launch(command, 4, framework)


def test_the_number_of_devices_is_filled_in(programs):
    assert words(programs, "mpirun -n {devices}") == [str(programs / "bin/mpirun"), "-n", "2"]


def test_torchrun_starts_a_program_at_a_port_of_its_own_from_beside_the_interpreter(programs):
    assert words(programs, TORCHRUN, devices=8) == [
        str(programs / "venv/torchrun"),
        "--nproc-per-node=8",
        "--standalone",
        "--no-python",
    ]


@pytest.mark.parametrize("option", ["--standalone", "--rdzv-backend=c10d", "--master-port=1"])
def test_a_chosen_rendezvous_is_kept(programs, option):
    assert words(programs, f"torchrun {option}")[1:] == [option, "--no-python"]


def test_a_missing_launcher_is_named(programs):
    with pytest.raises(LaunchError, match="`launch` needs srun, which is neither next to"):
        words(programs, "srun -n {devices}")


def test_one_process_needs_no_words(programs):
    assert words(programs, "") == []


def test_ranks_do_not_inherit_the_place_of_the_job_around_them():
    launch = Launch(TORCHRUN, 2, Framework.TORCH)
    around = {"RANK": "7", "SLURM_PROCID": "1", "HOME": "/home"}

    assert launch.variables(around) == {"HOME": "/home", "GLOO_SOCKET_IFNAME": "lo"}
    assert launch.variables({"GLOO_SOCKET_IFNAME": "eth1"}) == {"GLOO_SOCKET_IFNAME": "eth1"}


def test_jax_gets_as_many_devices_on_a_cpu_unless_they_are_chosen():
    launch = Launch("", 4, Framework.JAX)
    flag = "--xla_force_host_platform_device_count"

    assert launch.variables({}) == {"XLA_FLAGS": f"{flag}=4"}
    assert launch.variables({"XLA_FLAGS": "--a"}) == {"XLA_FLAGS": f"--a {flag}=4"}
    assert launch.variables({"XLA_FLAGS": f"{flag}=2"}) == {"XLA_FLAGS": f"{flag}=2"}
    assert Launch("", 4, Framework.HOST).variables({"A": "b"}) == {"A": "b"}
