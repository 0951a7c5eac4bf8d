"""Runs two pull requests of an example repository end to end: measure, judge, explain, post.

make demo runs this. The workloads run on this machine's CPU and the service is the real one on
SQLite; only GitHub is a stand-in, over real HTTP.
"""

import argparse
import json
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path

from demo_checks import Outcome, check_branch
from demo_pages import picture_bundles, picture_history, serve_history
from demo_pictures import take_pictures
from demo_repository import (
    BRANCHES,
    EXAMPLES,
    Branch,
    DemoError,
    build_repository,
    commit_of,
    git,
)
from demo_service import (
    PostedReport,
    Site,
    fetch_spreads,
    open_pull_request,
    running_site,
    upload_bundle,
    wait_for_report,
)
from rich.console import Console
from rich.markdown import Markdown

# Marks a folder of the demo, which the next demo may delete.
MARKER = ".perfledger-demo"
OUTCOME_VERSION = 2
INTERRUPTED = 130
INTRODUCTION = """\
This runs two pull requests of an example repository end to end. It takes four
minutes on a quiet machine with two cores, and longer beside other programs:

1. A git repository with four workloads, two in PyTorch and two in JAX, and two
   branches: one slows a training step, the other only moves code.
2. The service on SQLite, and a stand-in for GitHub.
3. perfledger check on both, with the history that the service has: base and head
   in pairs of fresh processes, judged, explained and priced.
4. Both bundles are uploaded, and each pull request gets a comment and a check.

All of it is written to {folder}; nothing leaves this machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 if every part worked, whatever the verdicts are."""
    options = _options(arguments)
    console = Console(highlight=False)
    try:
        return _run(options, console)
    except DemoError as error:
        console.print(f"\n[bold red]The demo failed:[/] {_plain_text(str(error))}")
        console.print(f"The files written so far are in {options.folder}.", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("\nInterrupted; all processes are stopped.")
        return INTERRUPTED


def chosen_branches(name: str | None) -> tuple[Branch, ...]:
    """Return the branches to run; raise DemoError for an unknown name."""
    chosen = tuple(branch for branch in BRANCHES if name in (None, branch.name))
    if not chosen:
        names = ", ".join(branch.name for branch in BRANCHES)
        msg = f"no branch is named {name!r}: choose from {names}"
        raise DemoError(msg)
    return chosen


def fresh_folder(folder: Path) -> None:
    """Empty the folder; raise DemoError instead of deleting one that is not the demo's."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER).exists():
            msg = f"{folder} is not empty and not from a demo: choose another folder, or empty it"
            raise DemoError(msg)
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text("deleted by the next demo\n", encoding="utf-8")


def unexpected_verdicts(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return sentences about verdicts that differ from what the branches do."""
    sentences: list[str] = []
    for outcome in outcomes:
        red = set(outcome.regressed())
        if outcome.slower and outcome.slower not in red:
            sentences.append(
                f"{outcome.branch} slows down {outcome.slower}, which was not detected"
            )
        sentences.extend(
            f"{outcome.branch} does not slow down {workload}, but it was reported as slower"
            for workload in sorted(red - {outcome.slower})
        )
        if not outcome.slower and not red and outcome.exit_code != 0:
            sentences.append(f"{outcome.branch} changes nothing, but this was not proven")
    return tuple(sentences)


def terminal_text(comment: str) -> str:
    """Return a comment's Markdown without its HTML: collapsible sections, breaks in cells."""
    text = re.sub(r"<summary>(.*?)</summary>", r"**▸ \1**", comment, flags=re.DOTALL)
    text = text.replace("<br>", ", ")
    return re.sub(r"<!--.*?-->|</?(?:details|sub|sup)[^>]*>", "", text, flags=re.DOTALL)


def first_part(comment: str) -> str:
    """Return a comment up to its first collapsed section, which a reader sees without a click."""
    return comment.partition("<details>")[0].rstrip() + "\n"


def outcome_json(
    outcomes: Sequence[Outcome], reports: Mapping[str, PostedReport], seconds: Mapping[str, float]
) -> str:
    """Return the outcomes as JSON, for programs."""
    document = {
        "version": OUTCOME_VERSION,
        "seconds": dict(seconds),
        "branches": [
            {**asdict(outcome), "posted": asdict(reports[outcome.branch])}
            if outcome.branch in reports
            else asdict(outcome)
            for outcome in outcomes
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.history:
        return _run_history(options, console)
    if options.bundles is not None:
        picture_bundles(options.bundles, options.screenshots or options.bundles, console)
        return 0
    began = time.monotonic()
    branches = chosen_branches(options.only)
    console.rule("[bold]perfledger, end to end", align="left")
    console.print(INTRODUCTION.format(folder=options.folder), markup=False)
    fresh_folder(options.folder)
    repository = _repository(options, console)
    reports: dict[str, PostedReport] = {}
    with ExitStack() as stack:
        site = None
        if not options.measure_only:
            _stage(console, "Starting the service and GitHub's stand-in")
            site = stack.enter_context(running_site(options.folder))
        outcomes = [_check(branch, repository, options, console, site) for branch in branches]
        seconds = {"measured": time.monotonic() - began}
        if site is not None:
            _stage(console, "Uploading both bundles")
            reports = {
                outcome.branch: _post(branch, outcome, repository, site)
                for branch, outcome in zip(branches, outcomes, strict=True)
            }
            _show(reports, console)
            seconds["all"] = time.monotonic() - began
            _pictures(options, site, reports, console)
            _keep_serving(options, site, console)
    if options.json is not None:
        options.json.write_text(outcome_json(outcomes, reports, seconds), encoding="utf-8")
    _close(outcomes, time.monotonic() - began, console)
    return 0


def _run_history(options: argparse.Namespace, console: Console) -> int:
    fresh_folder(options.folder)
    if options.screenshots is None:
        serve_history(options.folder, console)
    else:
        picture_history(options.folder, options.screenshots, console)
    return 0


def _repository(options: argparse.Namespace, console: Console) -> Path:
    """Build the repository in the demo's folder, and show its commits."""
    repository: Path = options.folder / "repository"
    _stage(console, "Building a git repository with two pull requests")
    build_repository(repository)
    console.print(git(repository, "log", "--oneline", "--graph", "--all").rstrip(), markup=False)
    return repository


def _check(
    branch: Branch,
    repository: Path,
    options: argparse.Namespace,
    console: Console,
    site: Site | None,
) -> Outcome:
    """Check a branch with the history by which the service will judge it, as a CI job does."""
    _stage(console, f"Pull request {branch.pull_request}: perfledger check --head {branch.name}")
    console.print(f"{branch.subject}\n", style="italic", markup=False)
    console.print(git(repository, "diff", "--stat", f"main...{branch.name}"), markup=False)
    spreads = None if site is None else fetch_spreads(site)
    outcome = check_branch(repository, branch, options.folder, spreads=spreads)
    console.print(f"exit code {outcome.exit_code} after {outcome.seconds:.0f} s", style="dim")
    return outcome


def _post(branch: Branch, outcome: Outcome, repository: Path, site: Site) -> PostedReport:
    commit = commit_of(repository, branch.name)
    open_pull_request(site, branch, commit)
    page = upload_bundle(site, outcome.bundle)
    return wait_for_report(site, branch, page, commit)


def _show(reports: Mapping[str, PostedReport], console: Console) -> None:
    for name, each in reports.items():
        _stage(console, f"The comment on {name}")
        console.print(Markdown(terminal_text(first_part(each.comment))))
        folded = each.comment.count("<summary>")
        console.print(
            f"[dim]and {folded} collapsed sections; the page has everything:[/] {each.page}"
        )
        console.print(f"check run: [bold]{each.conclusion}[/], {_plain_text(each.title)}")


def _pictures(
    options: argparse.Namespace, site: Site, reports: Mapping[str, PostedReport], console: Console
) -> None:
    if options.screenshots is None:
        return
    _stage(console, f"Taking pictures for {options.screenshots}")
    for path in take_pictures(site.url, reports, options.screenshots):
        console.print(str(path), markup=False)


def _keep_serving(options: argparse.Namespace, site: Site, console: Console) -> None:
    if not options.serve:
        return
    console.print(f"\nThe service runs at {site.url} until Ctrl-C.")
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)


def _close(outcomes: Sequence[Outcome], seconds: float, console: Console) -> None:
    _stage(console, "Results")
    for outcome in outcomes:
        effect = f"slows down {outcome.slower}" if outcome.slower else "does the same work"
        console.print(f"{outcome.branch}, which {effect}: {outcome.headline}", markup=False)
    unexpected = unexpected_verdicts(outcomes)
    for sentence in unexpected:
        console.print(f"[yellow]Unexpected:[/] {_plain_text(sentence)}")
    if unexpected:
        console.print(
            "A busy machine can cause this; the demo itself worked. To repeat it: make demo."
        )
    console.print(f"{seconds:.0f} s in total. make demo SERVE=1 opens pages with a history.")


def _stage(console: Console, title: str) -> None:
    console.print()
    console.rule(f"[bold]{_plain_text(title)}", align="left")


def _plain_text(text: str) -> str:
    """Return text with its square brackets escaped for markup."""
    return text.replace("[", "\\[")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--serve", action="store_true", help="keep the service up until Ctrl-C")
    parser.add_argument(
        "--history",
        action="store_true",
        help="measure nothing: serve a synthetic history of checks until Ctrl-C",
    )
    parser.add_argument("--only", metavar="BRANCH", help="run only this branch")
    parser.add_argument(
        "--measure-only", action="store_true", help="only run the checks, without the service"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes to this file")
    parser.add_argument(
        "--folder", type=Path, default=EXAMPLES.parent / ".demo", help="working folder"
    )
    parser.add_argument(
        "--bundles",
        type=Path,
        metavar="FOLDER",
        help="measure nothing: post the bundles of an earlier demo's folder, and take pictures",
    )
    parser.add_argument(
        "--screenshots",
        type=Path,
        metavar="FOLDER",
        help="take the pictures of the README, with --history those of all pages (needs the dev "
        "extra and chromium)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
