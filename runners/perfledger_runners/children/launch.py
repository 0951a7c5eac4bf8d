"""Starts the ranks of a workload: the launcher's command, and the variables that ranks need."""

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfledger.records import Framework, WorkloadSpec
from perfledger.workload import DEVICES_PARAMETER

TORCHRUN = "torchrun --nproc-per-node={devices}"
DEVICES_WORD = "{devices}"
# A launcher that expects a Python file unless told that this is a program.
TORCH_LAUNCHERS = ("torchrun", "torch.distributed.run")
# By default all torchruns of a host listen on one port: base and head would share it.
RENDEZVOUS_OPTIONS = ("--standalone", "--rdzv", "--master")
# The launcher places each rank, not the job in which the check runs.
INHERITED_PLACE = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    *("SLURM_PROCID", "SLURM_LOCALID"),
)
HOST_DEVICES_FLAG = "--xla_force_host_platform_device_count"


class LaunchError(Exception):
    """A command that cannot start the ranks of a workload."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a multi-device workload is started; `command` is "" for one process."""

    command: str
    devices: int
    framework: Framework

    def words(self, python: Path, environment: Mapping[str, str]) -> list[str]:
        """Return the words before the interpreter. Raises LaunchError without the launcher.

        A launcher beside the interpreter takes precedence over those on PATH.
        """
        if not self.command:
            return []
        words = [
            word.replace(DEVICES_WORD, str(self.devices)) for word in shlex.split(self.command)
        ]
        search_path = f"{python.parent}:{environment.get('PATH', '')}"
        program = shutil.which(words[0], path=search_path)
        if program is None:
            msg = (
                f"`launch` needs {words[0]}, which is neither next to {python} nor on PATH: "
                "install it, or set another `launch`"
            )
            raise LaunchError(msg)
        is_torch = any(Path(word).name in TORCH_LAUNCHERS for word in words)
        if is_torch and not any(word.startswith(RENDEZVOUS_OPTIONS) for word in words):
            words.append("--standalone")
        return [program, *words[1:], *(("--no-python",) if is_torch else ())]

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return a child's variables, adapted to this workload."""
        if not self.command:
            flags = environment.get("XLA_FLAGS", "")
            if self.framework is not Framework.JAX or HOST_DEVICES_FLAG in flags:
                return dict(environment)
            flags = f"{flags} {HOST_DEVICES_FLAG}={self.devices}".strip()
            return {**environment, "XLA_FLAGS": flags}
        own_variables = {
            name: value for name, value in environment.items() if name not in INHERITED_PLACE
        }
        # All ranks are on this host, whose name may not resolve to one of its addresses.
        return {"GLOO_SOCKET_IFNAME": "lo", **own_variables}


def launch_of(spec: WorkloadSpec, default: str) -> Launch | None:
    """Return how a multi-device workload is started; None for an ordinary one.

    `default` is the configured command, for workloads without their own. A workload with a grid of
    device counts is started the same way at each count: with one device it is one rank, since its
    code joins the others in any case.
    """
    by_framework = TORCHRUN if spec.framework is Framework.TORCH else ""
    command = spec.launch or default or by_framework
    is_rank_of_grid = bool(command) and DEVICES_PARAMETER in spec.params
    if spec.devices == 1 and not spec.launch and not is_rank_of_grid:
        return None
    return Launch(command, spec.devices, spec.framework)
