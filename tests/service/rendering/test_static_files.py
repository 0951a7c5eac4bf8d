import hashlib
import math
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest

import perfledger_templates
from perfledger_service.rendering.chart.marks import SERIES_TONES

Matrix = Sequence[Sequence[float]]
TEMPLATES = Path(str(perfledger_templates.__file__)).parent
STATIC = TEMPLATES / "static"
VENDOR = STATIC / "vendor"
# Linear RGB as people see it: Machado, Oliveira and Fernandes 2009, "A physiologically-based model
# for simulation of color vision deficiency", at full severity.
SIGHTS = {
    "usual": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


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


@pytest.mark.parametrize("place", [pytest.param(0, id="light"), pytest.param(1, id="dark")])
@pytest.mark.parametrize("sight", [pytest.param(each, id=name) for name, each in SIGHTS.items()])
def test_the_first_four_series_look_different_to_everybody(place, sight):
    css = (STATIC / "picture.css").read_text(encoding="utf-8").split("@media")[place]
    colours = dict(re.findall(r"\.picture \.([\w-]+) \{ color: (#[0-9a-f]{6})", css))
    coordinates = [lab_of(colours[tone], sight) for tone in SERIES_TONES[:4]]

    assert all(math.dist(one, other) > 14 for one, other in combinations(coordinates, 2))


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
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab_of(colour: str, sight: Matrix) -> tuple[float, float, float]:
    """Return the CIELAB coordinates of a colour as a kind of sight sees it."""
    rgb = [min(max(part, 0.0), 1.0) for part in product_of(sight, linear(colour))]
    x, y, z = (
        cube_root(part / white)
        for part, white in zip(product_of(XYZ, rgb), (0.9505, 1.0, 1.089), strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def cube_root(part: float) -> float:
    return math.cbrt(part) if part > 0.008856 else 7.787 * part + 16 / 116


def product_of(matrix: Matrix, vector: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]
