"""Renders templates with the product's only Jinja environment.

A missing value is an error. HTML and SVG templates escape automatically; Markdown templates escape
each untrusted text: a name with `code`, a sentence of ours with `prose`.
"""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from perfledger.records import short_sha
from perfledger_service.rendering.layout import escape

_ENVIRONMENT = Environment(
    loader=PackageLoader("perfledger_templates", ""),
    undefined=StrictUndefined,
    autoescape=select_autoescape(enabled_extensions=("html.j2", "svg.j2"), default=False),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
)
# Jinja infers this dictionary's type from its own filters; ours have different signatures.
_FILTERS: dict[str, Any] = _ENVIRONMENT.filters
_FILTERS.update(
    clean=escape.clean,
    code=escape.code,
    fence=escape.fence,
    html_sentence=escape.html_sentence,
    path=escape.path,
    prose=escape.prose,
    query_value=escape.query_value,
    readable_lines=escape.readable_lines,
    sentence=escape.sentence,
    short_sha=short_sha,
    wrapping_code=escape.wrapping_code,
)
# Files of other languages: `{{ }}` has a meaning in workflows, `[[ ]]` in TOML.
_FILES = _ENVIRONMENT.overlay(
    block_start_string="<%",
    block_end_string="%>",
    variable_start_string="<<",
    variable_end_string=">>",
    comment_start_string="<#",
    comment_end_string="#>",
    keep_trailing_newline=True,
)


def render(template: str, **values: object) -> str:
    """Return the text of `template`, a path below the templates' folder."""
    return _ENVIRONMENT.get_template(template).render(values)


def render_file(template: str, **values: object) -> str:
    """Return the text of a template whose variables are written as `<< name >>`."""
    return _FILES.get_template(template).render(values)
