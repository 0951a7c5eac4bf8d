"""Presents a repository's set-up, and writes the files that `perfledger init` adds to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perfledger.records import Framework
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact,
    name,
    sentences,
    table,
    words,
)
from perfledger_service.rendering.layout.environment import render_file
from perfledger_service.values.project_facts import (
    BenchmarkTool,
    EnvironmentManager,
    ProjectFacts,
    Setup,
    SetupFile,
)

MAX_PACKAGES = 3
MAX_MODULES = 6
# Options of `perfledger check`, by the benchmark tool.
OPTIONS = {BenchmarkTool.ASV: "--asv", BenchmarkTool.PYTEST: "--pytest"}
# Values of the setting `suite`, which also holds for the workflow.
SUITES = {BenchmarkTool.ASV: "asv", BenchmarkTool.PYTEST: "pytest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSetUp:
    """The steps by which a workflow creates the workloads' environment, and their source."""

    source: str
    commands: tuple[str, ...]
    program: str = ""  # required on the runner
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    python: str = ""  # the interpreter, unless it is .venv/bin/python
    # The interpreter of an environment made by hand, as a word in a shell.
    own_python: str = "/path/to/python"


_FILE_COLUMNS: tuple[Column[SetupFile], ...] = (
    name("path", "file", lambda file: file.path),
    words("state", "state", lambda file: "new" if file.is_new else "kept as it was"),
    fact("is_new", lambda file: file.is_new),
)


def setup_document(setup: Setup) -> Document:
    """Return the detected facts, the set-up files, and what to do next."""
    facts, notes = setup.facts, advice(setup.facts)
    next_step = "Commit these files, change something and run: perfledger check"
    return Document(
        name="perfledger-set-up",
        facts={
            "framework": facts.framework,
            "packages": facts.packages,
            "environment": environment_set_up(facts).source,
            "benchmark_tools": facts.benchmark_tools,
            "notes": notes,
        },
        blocks=(
            *sentences([summary(facts)], names=facts.packages),
            table(_FILE_COLUMNS, setup.files, key="files"),
            *sentences([*notes, next_step]),
        ),
    )


def summary(facts: ProjectFacts) -> str:
    """Return the detected facts in one line."""
    framework = "plain Python" if facts.framework is Framework.HOST else str(facts.framework)
    packages = f"packages {_names(facts)}" if facts.packages else "no package"
    tools = f", benchmarks of {' and '.join(facts.benchmark_tools)}" * bool(facts.benchmark_tools)
    environment = f"environment from {environment_set_up(facts).source}"
    return f"Found {framework}, {packages}, {environment}{tools}."


def advice(facts: ProjectFacts) -> tuple[str, ...]:
    """Return advice for cases where a first check would not run as the user expects."""
    sentences = [
        f"Your {tool} benchmarks run unchanged: perfledger check {OPTIONS[tool]}. For the workflow "
        f'to measure them instead, set suite = "{SUITES[tool]}" in place of `paths` in the '
        "configuration, and install what they import in its environment"
        for tool in facts.benchmark_tools
    ]
    set_up = environment_set_up(facts)
    if not (facts.has_environment or set_up.python):
        sentences.append(
            "No .venv here: workloads would run on perfledger's own Python. Make one, or name "
            f"yours: PERFLEDGER_PYTHON={set_up.own_python} perfledger check"
        )
    if facts.missing_modules:
        modules = [f"{name} (in {path})" for name, path in facts.missing_modules.items()]
        sentences.append(
            f"Not in .venv, but imported by your code: {_first(modules)}. Install what the "
            "workloads import; files that no workload imports need nothing"
        )
    if not facts.has_manager:
        sentences.append(
            f"{set_up.program} is not on PATH here: install it, or a change of {set_up.source} is "
            "not measured, as each side then needs a separate environment"
        )
    if not facts.has_profile_reader:
        sentences.append(
            "perfledger explains a change in JAX by XLA's profiles, which it reads with jax: "
            "pip install 'perfledger[jax]', in perfledger's environment"
        )
    if facts.unignored_environments:
        names = ", ".join(facts.unignored_environments)
        lines = " and ".join(f"`/{name}/`" for name in facts.unignored_environments)
        sentences.append(
            f"git does not ignore {names}: add {lines} to .gitignore, or `git add` commits it"
        )
    return tuple(sentences)


def _names(facts: ProjectFacts) -> str:
    return _first(facts.packages, most=MAX_PACKAGES)


def _first(names: Sequence[str], *, most: int = MAX_MODULES) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def example_text(facts: ProjectFacts) -> str:
    """Return an example workload for the repository's framework, ready to run."""
    origin = f" from {_names(facts)}" if facts.packages else ""
    hint = f"Import what you measure{origin} here."
    return render_file(f"init/example_{facts.framework}.py", import_hint=hint)


def configuration_text(facts: ProjectFacts, *, folder: str) -> str:
    """Return a configuration whose workloads are in `folder`."""
    python = environment_set_up(facts).python
    return render_file("init/perfledger.toml", folder=folder, python=python)


def workflow_text(facts: ProjectFacts, *, default_branch: str) -> str:
    """Return a workflow that creates the environment and checks every change."""
    has_device = facts.framework is not Framework.HOST
    return render_file(
        "init/workflow.yml",
        default_branch=default_branch,
        labels="[self-hosted, gpu]" if has_device else "[self-hosted]",
        has_large_files=facts.has_large_files,
        set_up=environment_set_up(facts),
    )


def environment_set_up(facts: ProjectFacts) -> EnvironmentSetUp:
    """Return the steps that create the environment with the repository's own tool."""
    match facts.manager:
        case EnvironmentManager.UV:
            return EnvironmentSetUp(source="uv.lock", program="uv", commands=("uv sync --frozen",))
        case EnvironmentManager.POETRY:
            return EnvironmentSetUp(
                source="poetry.lock",
                program="poetry",
                commands=("poetry install --no-interaction",),
                variables={"POETRY_VIRTUALENVS_IN_PROJECT": "true"},
                own_python='"$(poetry env info --executable)"',
            )
        case EnvironmentManager.PDM:
            return EnvironmentSetUp(
                source="pdm.lock",
                program="pdm",
                commands=("pdm sync",),
                own_python='"$(pdm info --python)"',
            )
        case EnvironmentManager.PIXI:
            return EnvironmentSetUp(
                source="pixi.lock",
                program="pixi",
                commands=("pixi install --frozen",),
                python=".pixi/envs/default/bin/python",
            )
        case EnvironmentManager.CONDA:
            command = f"conda env create --quiet --prefix .venv --file {facts.manager_file}"
            return EnvironmentSetUp(
                source=facts.manager_file,
                program="conda",
                commands=(command,),
                own_python='"$CONDA_PREFIX/bin/python"',
            )
        case EnvironmentManager.PIP:
            return _pip_set_up(facts)


def _pip_set_up(facts: ProjectFacts) -> EnvironmentSetUp:
    arguments = [
        *(["-r requirements.txt"] if facts.has_requirements else []),
        *(["."] if facts.is_installable else []),
    ]
    # The benchmarks' own plugin, which a package seldom requires.
    plugin = " pytest-benchmark" * (BenchmarkTool.PYTEST in facts.benchmark_tools)
    if arguments:
        install = f".venv/bin/pip install {' '.join(arguments)}{plugin}"
        source = "requirements.txt" if facts.has_requirements else "the project's own requirements"
    else:
        package = "numpy" if facts.framework is Framework.HOST else str(facts.framework)
        install = (
            f".venv/bin/pip install {package}{plugin} # and whatever else your workloads import"
        )
        source = f"pip ({package} alone: no file lists the requirements)"
    return EnvironmentSetUp(source=source, commands=("python3 -m venv .venv", install))
