import hashlib
import re
from pathlib import Path

import pytest

import perfledger_templates

TEMPLATES = Path(str(perfledger_templates.__file__)).parent
STATIC = TEMPLATES / "static"
VENDOR = STATIC / "vendor"


def test_vendored_files_are_what_was_vendored():
    noted = dict(
        re.findall(
            r"^\| `(\S+)` \| ([0-9a-f]{64}) \|$", (VENDOR / "README.md").read_text(), re.MULTILINE
        )
    )
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name != "README.md"
    }

    assert digests == noted


@pytest.mark.parametrize(
    "name", ["perfledger.css", "picture.css", "chart.js", "icon.svg", "vendor/uPlot.min.css"]
)
def test_static_files_load_nothing_from_elsewhere(name):
    text = (STATIC / name).read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")

    text = text.replace("fetch(frame.dataset.points)", "")  # a path of the page's own
    assert not re.search(r"https?:|url\(|@import|\bfetch\(|\beval\(|innerHTML", text)


def test_the_only_address_that_a_script_opens_is_perfettos():
    text = (STATIC / "perfetto.js").read_text(encoding="utf-8")

    assert re.findall(r"\w+://[^\s\"]+", text) == ["https://ui.perfetto.dev"]
    assert re.findall(r"\bfetch\(([^)]*)\)", text) == ["step.steps"]  # of this site, by its CSP
    assert not re.search(r"\beval\(|innerHTML|XMLHttpRequest|sendBeacon", text)


def test_every_colour_of_a_picture_has_a_dark_one():
    css = (STATIC / "picture.css").read_text(encoding="utf-8")
    light, dark, _ = (
        set(re.findall(r"\.picture ([.\w-]+) \{[^}]*?(color|fill|stroke): #", block))
        for block in css.split("@media")
    )

    assert light == dark


@pytest.mark.parametrize("place", [pytest.param(0, id="light"), pytest.param(1, id="dark")])
def test_the_shapes_of_a_picture_stand_out_and_names_inside_them_are_readable(place):
    css = (STATIC / "picture.css").read_text(encoding="utf-8").split("@media")[place]
    rules = re.findall(r"\.picture ([.\w-]+) \{[^}]*?(?:color|fill): (#[0-9a-f]{6})", css)
    colours = dict(rules)
    ground, inside, track = (colours.pop(name) for name in (".paper", ".inside", ".track"))

    assert inside == ground
    assert all(contrast(colour, ground) >= 4.5 for colour in colours.values())
    assert all(contrast(colour, track) >= 4.5 for colour in colours.values())


def test_every_colour_of_the_light_theme_has_a_dark_one():
    css = (STATIC / "perfledger.css").read_text(encoding="utf-8")
    light, dark = (set(re.findall(r"(--[\w-]+): #", block)) for block in css.split("@media", 2)[:2])

    assert light == dark
    assert set(re.findall(r"var\((--[\w-]+)", css)) <= light | {"--tone"}


@pytest.mark.parametrize("place", [pytest.param(0, id="light"), pytest.param(1, id="dark")])
def test_text_is_readable_on_every_ground(place):
    css = (STATIC / "perfledger.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})\b;", css.split("@media", 2)[place]))
    texts = set(colours) - {"--paper", "--panel", "--sunken", "--line"}
    low = {
        (text, ground)
        for text in texts
        for ground in ("--paper", "--panel", "--sunken")
        if contrast(colours[text], colours[ground]) < 4.5
    }

    assert low == set()


def contrast(one: str, other: str) -> float:
    """Return WCAG 2's contrast ratio of two #rrggbb colours."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
