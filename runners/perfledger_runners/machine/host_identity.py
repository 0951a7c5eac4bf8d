"""Distinguishes this host from others of its kind."""

import hashlib
import platform
import re
from collections.abc import Mapping

from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles, read_text

# Names the host of a container, which has no identity of its own: in a pod the node's name.
HOST_VARIABLE = "PERFLEDGER_HOST"
# An image that has /etc/machine-id gives the same one to each container: it is not the host's.
CONTAINER_VARIABLES = (
    *("container", "KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"),
)
# Docker's and Podman's files, below the root: their containers may have any file system.
CONTAINER_FILES = (".dockerenv", "run/.containerenv")
IMAGE_FILE_SYSTEMS = frozenset({"overlay", "fuse-overlayfs", "fuse.fuse-overlayfs", "squashfs"})
ID_DIGITS = 12
_MACHINE_ID = re.compile(r"[0-9a-f]{32}")


def host_identity(
    environment: Mapping[str, str], *, files: ProcFiles = THIS_SYSTEM, name: str | None = None
) -> str:
    """Return what no other host has, unchanged by updates of this host; "" if unknown.

    It is a digest of the host's name and its machine id, which must stay confidential
    (machine-id(5)): copies of one disk, as nodes of a cluster often are, have the same id. `name`
    is the kernel's by default.
    """
    host_name = environment.get(HOST_VARIABLE, "").strip()
    if host_name:
        return _digest(host_name)
    machine_id = read_text(files.root / "etc/machine-id")
    if _is_container(environment, files) or not _MACHINE_ID.fullmatch(machine_id):
        return ""
    return _digest(f"{machine_id} {platform.node() if name is None else name}")


def _is_container(environment: Mapping[str, str], files: ProcFiles) -> bool:
    mounts = (line.split() for line in read_text(files.proc / "self/mounts").splitlines())
    kinds = [fields[2] for fields in mounts if fields[1:2] == ["/"] and len(fields) > 2]  # noqa: PLR2004
    is_image = bool(kinds) and kinds[-1] in IMAGE_FILE_SYSTEMS
    is_marked = any((files.root / each).exists() for each in CONTAINER_FILES)
    return is_image or is_marked or any(environment.get(each) for each in CONTAINER_VARIABLES)


def _digest(text: str) -> str:
    words = f"perfledger host\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest()[:ID_DIGITS]
