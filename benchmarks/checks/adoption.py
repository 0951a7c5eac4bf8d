"""Times the way from an empty repository to the first comment, for torch or for JAX.

    python benchmarks/checks/adoption.py torch
    python benchmarks/checks/adoption.py jax

A wheel of this clone and the framework are installed into a new environment, which is timed apart:
it is mostly downloads. Then the blocks of docs/tutorial.md run as they are in one shell, in a
repository that requires the framework; only the change of step 3 is one of the workload that
`perfledger init` writes for it. Prints the seconds of each step and the comment. The exit code is 1
if the comment does not name the regression, or if it took more than five minutes.
"""

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?ms)^## \d\. ([^\n]*)$.*?^```sh\n(.*?)^```$")
CLOSING_BLOCK = re.compile(r"(?ms)^```sh\n(kill .*?)^```$")
INIT = "perfledger init\n"
EDIT = re.compile(r"(?m)^sed -i .*$")
MARK = "STEP TOOK"
MAX_S = 300.0
PACKAGES = {"torch": "torch==2.13.0", "jax": "jax"}
# A change of the workload that `perfledger init` writes, which takes about twice as long.
EDITS = {
    "torch": "s/torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)/"
    "torch.nn.ReLU(), *(torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))/",
    "jax": r"s/relu(data @ weights\[0\])/relu(jax.nn.relu(data @ weights[0]) @ weights[0])/",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("framework", choices=PACKAGES)
    framework = parser.parse_args().framework
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        programs = install(Path(folder), framework)
        print(f"{time.monotonic() - began:6.1f} s  Install (mostly downloads, counted apart)")
        done = subprocess.run(
            ["bash", "-c", script_of(framework, programs)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    seconds = [float(each) for each in re.findall(rf"^{MARK} ([\d.]+)$", done.stdout, re.MULTILINE)]
    for title, step_s in zip(titles(), seconds, strict=False):
        print(f"{step_s:6.1f} s  {title}")
    print(f"{sum(seconds):6.1f} s  from an empty repository to the first comment")
    _, marker, comment = done.stdout.partition("<!-- perfledger")
    print(f"\n{comment.partition('<details>')[0]}" if marker else done.stdout + done.stderr)
    is_named = done.returncode == 0 and "slower" in comment
    return 0 if is_named and sum(seconds) <= MAX_S else 1


def install(folder: Path, framework: str) -> Path:
    """Install a wheel of this clone and the framework; return the folder of programs."""
    environment, wheels = folder / "environment", folder / "wheels"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(wheels), str(ROOT)], check=True)
    (wheel,) = wheels.glob("perfledger-*.whl")
    constraints = ["-c", str(ROOT / "constraints.txt")]
    requirements = [f"{wheel}[service]", PACKAGES[framework]]
    subprocess.run([*pip, "install", *constraints, *requirements], check=True)
    return environment / "bin"


def titles() -> list[str]:
    """Return the titles of the tutorial's steps after the installation."""
    return [title for title, _ in BLOCK.findall(tutorial())[1:]]


def tutorial() -> str:
    return (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def script_of(framework: str, programs: Path) -> str:
    """Return the tutorial's blocks for a framework, each with its time; they need no account."""
    blocks = [block for _, block in BLOCK.findall(tutorial())[1:]]
    closing = CLOSING_BLOCK.search(tutorial())
    if INIT not in blocks[0] or EDIT.search(blocks[1]) is None or closing is None:
        sys.exit("docs/tutorial.md has other steps: adapt benchmarks/checks/adoption.py")
    requires = f"echo {framework} > requirements.txt && git add -A && git commit -qm 'Begin'\n"
    blocks[0] = blocks[0].replace(INIT, requires + INIT)
    blocks[1] = EDIT.sub(lambda _: f"sed -i '{EDITS[framework]}' benchmarks/example.py", blocks[1])
    timed = (
        f'began=$(date +%s.%N)\n{block}\necho; echo "{MARK} '
        '$(python3 -c "print($(date +%s.%N) - $began)")"'
        for block in blocks
    )
    text = "\n".join(
        (
            "set -e -o pipefail",
            f'export PATH="{programs}:$PATH" STAND_IN="{ROOT}/examples/github_stand_in.py"',
            *(
                f"export GIT_{who}_NAME=a GIT_{who}_EMAIL=a@b.example"
                for who in ("AUTHOR", "COMMITTER")
            ),
            "mkdir clone && cd clone",
            *timed,
            closing[1],
        )
    )
    for port in ("8901", "8765"):
        text = text.replace(port, free_port())
    return text


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
