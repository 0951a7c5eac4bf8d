"""What a user can type, set or meet is documented: these tests fail when it is not."""

import re
import tomllib
from pathlib import Path

from perfledger.metrics import METRICS, OPTIONAL_METRICS
from perfledger_service import errors
from perfledger_service.cli.groups import ROOT as COMMANDS, Group
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.service import PriceSettings, ServiceSettings, UploadSettings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SETTINGS = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
BUNDLE = (DOCS / "reference" / "bundle.md").read_text(encoding="utf-8")
ERRORS = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
COMMAND_PAGES = sorted((DOCS / "reference" / "commands").glob("*.md"))
REFERENCE = "\n".join(path.read_text(encoding="utf-8") for path in COMMAND_PAGES)
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), ROOT / "examples" / "README.md"]
SOURCES = ("service", "runners", "baselines", "cost_models", "templates", "examples", "benchmarks")
READMES = sorted(path for source in SOURCES for path in (ROOT / source).rglob("*.md"))
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
# What other tools' commands on these pages take.
FOREIGN_COMMANDS = re.compile(
    r"`[^`]*(systemd-run|bwrap|sacct|kubectl|nsys|ncu|nvidia-smi|vllm|pip|python|git|uv|poetry|pdm)"
    r" [^`]*`"
)
FOREIGN_OPTIONS = {
    "--nproc-per-node",
    "--standalone",
    "--system",
    "--now",
    "--loop",
    "--query-gpu",
    "--find-links",
    "--request-distribution",
    "--help",
}


def words_of(path):
    """Return a page without the commands of other tools."""
    text = path.read_text(encoding="utf-8")
    return FOREIGN_COMMANDS.sub(
        "", re.sub(r"^(?!.*perfledger ).*(sacct|pip|make).*$", "", text, flags=re.MULTILINE)
    )


def test_every_setting_of_a_check_is_on_the_page_of_settings():
    assert [name for name in CheckSettings.model_fields if f"| `{name}` |" not in SETTINGS] == []


def test_every_setting_of_the_service_is_on_the_page_of_settings():
    classes = (ServiceSettings, UploadSettings, PriceSettings)
    names = [f"`PERFLEDGER_{name.upper()}`" for each in classes for name in each.model_fields]

    assert [name for name in names if name not in SETTINGS] == []


def test_the_defaults_on_the_page_of_settings_are_those_of_the_code():
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", SETTINGS, re.MULTILINE)
    defaults = {name: text.strip(" `") for name, text in rows if name in CheckSettings.model_fields}
    settings = CheckSettings.model_validate({})

    for name, text in defaults.items():
        value = getattr(CheckSettings.model_validate({name: value_of(text)} if text else {}), name)
        assert value == getattr(settings, name), name
    assert set(defaults) == set(CheckSettings.model_fields)


def test_the_defaults_of_the_service_on_the_page_are_those_of_the_code():
    rows = re.findall(r"^\| `PERFLEDGER_(\w+)` \|([^|]*)\|", SETTINGS, re.MULTILINE)
    known_names = {}
    for kind in (PriceSettings, UploadSettings, ServiceSettings):
        known_names |= {name: (kind, field) for name, field in kind.model_fields.items()}
    defaults = {
        name.lower(): text.strip(" `") for name, text in rows if re.fullmatch(" `.*` ", text)
    }

    assert {"database_url", "session_days"} <= set(defaults)
    for name, text in defaults.items():
        kind, field = known_names[name]
        assert getattr(kind.model_validate({name: text}), name) == field.default, name
    unset = {name for name, (_, field) in known_names.items() if field.default not in (None, "")}
    assert unset <= set(defaults)


def value_of(text):
    """Return a default as TOML has it; a word without quotes is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def test_every_metric_has_its_name_and_meaning_on_the_page_of_settings_or_bundles():
    names = [f"`{metric}`" for metric in (*METRICS, *OPTIONAL_METRICS)]

    assert [name for name in names if name not in SETTINGS + BUNDLE] == []


def test_every_error_is_on_its_page_and_in_the_tree():
    names = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.PerfledgerError)
    ]

    assert [name for name in names if f"| `{name}` |" not in ERRORS] == []
    assert [name for name in names if name not in (errors.__doc__ or "")] == []


def test_every_command_that_a_page_names_is_there():
    commands = [
        (path.name, words)
        for path in PAGES
        if path.name not in {"CHANGELOG.md", "CONTRIBUTING.md"}
        for words in re.findall(
            r"(?:`|^|\$ )perfledger ([a-z][^`\n]*)", words_of(path), re.MULTILINE
        )
    ]

    assert [each for each in commands if not is_command(each[1].split())] == []


def is_command(words, group=COMMANDS):
    """Say whether words begin with a command; a group alone is one, too."""
    member = group.members.get(words[0].strip(".,:;)")) if words else group
    if isinstance(member, Group):
        return member is group or is_command(words[1:], member)
    return member is not None


def test_every_option_that_a_page_names_is_one_of_a_command():
    known_options = set(OPTION.findall(REFERENCE)) | FOREIGN_OPTIONS
    may_name_others = {"CHANGELOG.md", "device-checks.md", "README.md", "reading-a-comment.md"}
    may_name_others |= {"slurm.md", "kubernetes.md", "arc.md"}  # of srun, sbatch, kubectl, helm
    may_name_others |= {"move-here.md"}  # of the tools that people come from; a test runs ours
    may_name_others |= {"tutorial.md"}  # of curl; a test runs all of it
    assert {
        str(path.relative_to(ROOT)): unknown
        for path in PAGES
        if path.name not in may_name_others
        if (unknown := set(OPTION.findall(words_of(path))) - known_options)
    } == {}


def test_a_page_is_short_enough_to_read():
    for path in sorted({*PAGES, *READMES} - {ROOT / "CHANGELOG.md"}):
        lines = path.read_text(encoding="utf-8").splitlines()

        assert len(lines) <= 250, path
        assert [line for line in lines if len(line) > 120 and not is_exempt(path, line)] == [], path


def test_the_changelog_fits_its_width_outside_of_its_tables():
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def is_exempt(path, line):
    """Say whether a line may be as long as it is."""
    # A row of a generated table cannot be broken: those of limits hold the first sentence of the
    # code's comment. A line of HTML ends where its element does.
    is_limit = path.parent.name == "limits" and line.startswith("|") and len(line) <= 200
    return is_limit or line.startswith("  <")


def test_every_place_that_a_page_links_is_there():
    assert {
        str(path.relative_to(ROOT)): missing
        for path in sorted({*PAGES, *READMES})
        if (missing := [name for name in links_of(path) if not is_place(path, *name.split("#"))])
    } == {}


def links_of(path):
    """Return the places that a page links, without those of other sites."""
    text = re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^):]+)\)|(?:src|srcset)=\"([^\":]+)\"", text)
    return [name for pair in links for name in pair if name]


def is_place(page, name, anchor=""):
    """Say whether a file, and a heading of it, is there."""
    target = page.parent / name if name else page
    if not target.exists() or not anchor:
        return target.exists()
    headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
    return anchor in {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


def test_every_module_that_the_changelog_names_as_the_new_one_is_there():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("### Renamed: modules")[1]
    rows = re.findall(r"^\| `[^`]+` \| `(perfledger[^`]*)` \| (.+) \|$", text, re.MULTILINE)
    modules = [
        f"{folder}/{each.split(' → ')[-1]}" for folder, names in rows for each in names.split(", ")
    ]

    assert len(modules) > 400
    assert [
        module
        for module in modules
        if not any((ROOT / source / f"{module}.py").exists() for source in SOURCES)
        if not any((ROOT / source / module).is_dir() for source in SOURCES)
    ] == []
