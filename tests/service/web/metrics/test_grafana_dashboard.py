"""Checks Grafana's dashboard: its form, and each metric and label in its queries."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families
from promql_parser import (
    AggregateExpr,
    Call,
    Expr,
    MatrixSelector,
    VectorSelector,
    parse,
    walk,
)
from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import MetaData

from perfledger_service.github.request_counts import RequestCounts

ROOT = Path(__file__).parents[4]
DASHBOARD = json.loads((ROOT / "service" / "grafana-dashboard.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel, target) for panel in PANELS for target in panel["targets"]]
VARIABLES = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
SELECTED_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Prometheus gives each sample the name of its scrape job and the address that it was read from.
LABELS_OF_PROMETHEUS = {"job", "instance"}
RATES = {"rate", "increase"}
COLUMNS = 24
# The only numbers with a colour: 0 or 1, and the alert on waiting that the operator's guide names.
THRESHOLDS = {None, 1, 3600}

PLANTED = """# TYPE up_now gauge
up_now{status="failed"} 1
# TYPE sent_total counter
sent_total 1
# TYPE took_s histogram
took_s_bucket{le="1"} 1
took_s_bucket{le="+Inf"} 1
took_s_sum 1
took_s_count 1
"""


@dataclass(frozen=True)
class ServedMetric:
    """The kind of a metric in `/metrics`, and the labels of its series."""

    kind: str
    series: tuple[dict[str, str], ...]

    @property
    def is_counter(self) -> bool:
        return self.kind in {"counter", "histogram"}


def metrics_of(text: str) -> dict[str, ServedMetric]:
    metrics: dict[str, ServedMetric] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            earlier = metrics[sample.name].series if sample.name in metrics else ()
            metrics[sample.name] = ServedMetric(family.type, (*earlier, sample.labels))
    return metrics


@pytest.fixture
def served(engine, received, start_site, make_bundle):
    """Return the metrics of a service that took an upload, then refused one, then broke."""
    received(engine, make_bundle(seed=1))
    with start_site(engine, github_requests=RequestCounts()) as site:
        assert site.upload(make_bundle(seed=2)).status_code == 202
        assert site.upload(make_bundle(seed=3), token="wrong").status_code == 401
        whole_served_metrics = metrics_of(site.get("/metrics").text)
        tables = MetaData()
        tables.reflect(engine)
        tables.drop_all(engine)
        assert site.get("/readyz").status_code == 503
        return whole_served_metrics | metrics_of(site.get("/metrics").text)


def expression_of(query: str) -> Expr:
    return parse(query.replace("$__rate_interval", "5m"))


def nodes_of(expression: Expr) -> list[Expr]:
    nodes: list[Expr] = []
    walk(expression, nodes.append)
    return nodes


def selectors_in(expression: Expr) -> list[VectorSelector]:
    return [node for node in nodes_of(expression) if isinstance(node, VectorSelector)]


def groups_in(expression: Expr) -> set[str]:
    aggregates = [node for node in nodes_of(expression) if isinstance(node, AggregateExpr)]
    return {label for aggregate in aggregates for label in labels_of(aggregate)}


def labels_of(aggregate: AggregateExpr) -> list[str]:
    return aggregate.modifier.labels if aggregate.modifier else []


def problems_of(query: str, served: dict[str, ServedMetric]) -> list[str]:
    """Return what a query asks for that the service does not serve, or what means nothing."""
    expression = expression_of(query)
    selectors = selectors_in(expression)
    if unknown := {str(each.name) for each in selectors} - served.keys():
        return [f"{name} is not served" for name in sorted(unknown)]
    return [
        *(problem for each in selectors for problem in series_problems(each, served)),
        *(problem for node in nodes_of(expression) for problem in use_problems(node, served)),
        *whole_problems(expression, served),
    ]


def series_problems(selector: VectorSelector, served: dict[str, ServedMetric]) -> Iterator[str]:
    """Yield the labels that no series has, and the values that none of them has."""
    for matcher in selector.matchers.matchers:
        if matcher.name in LABELS_OF_PROMETHEUS:
            continue
        values = {labels.get(matcher.name) for labels in served[str(selector.name)].series}
        wanted_parts = matcher.value.split("|")
        if missing := [value for value in wanted_parts if value not in values]:
            yield f"{selector.name} has no {matcher.name} of {missing}"


def use_problems(node: Expr, served: dict[str, ServedMetric]) -> Iterator[str]:
    """Yield rates and sums of gauges, and quantiles of what has no buckets.

    Every replica has the database's gauges, so that their sum counts an upload several times.
    """
    match node:
        case Call() if node.func.name in RATES:
            yield from (f"rate of {name}" for name in gauges_in(node.args[0], served))
        case Call() if node.func.name == "histogram_quantile":
            names = [str(each.name) for each in selectors_in(node.args[1])]
            yield from (f"{name} has no buckets" for name in names if not is_bucket(name))
            if isinstance(node.args[1], AggregateExpr) and "le" not in labels_of(node.args[1]):
                yield "the buckets are added up"
        case AggregateExpr() if str(node.op) == "sum":
            yield from (f"sum of {name}" for name in gauges_in(node.expr, served))
        case _:
            pass


def gauges_in(expression: Expr, served: dict[str, ServedMetric]) -> list[str]:
    names = [str(each.name) for each in selectors_in(expression)]
    return [name for name in names if not served[name].is_counter]


def is_bucket(name: str) -> bool:
    return name.endswith("_bucket")


def whole_problems(expression: Expr, served: dict[str, ServedMetric]) -> Iterator[str]:
    """Yield labels to group by that no series has, and counters that are shown as they are."""
    selectors = selectors_in(expression)
    labels = {name for each in selectors for one in served[str(each.name)].series for name in one}
    groups = groups_in(expression) - LABELS_OF_PROMETHEUS
    yield from (f"no series has {label}" for label in groups - labels)
    in_ranges = sum(isinstance(node, MatrixSelector) for node in nodes_of(expression))
    if in_ranges < sum(served[str(each.name)].is_counter for each in selectors):
        yield "a counter has no rate"


@pytest.mark.slow
def test_every_query_asks_for_metrics_and_labels_that_the_service_serves(served):
    queries = [target["expr"] for _, target in QUERIES]
    problems = {query: texts for query in queries if (texts := problems_of(query, served))}

    assert len(queries) >= len(PANELS)
    assert problems == {}
    assert VARIABLES["job"]["query"]["query"] == "label_values(perfledger_build_info, job)"
    assert "perfledger_build_info" in served


@pytest.mark.slow
def test_every_metric_of_ours_is_on_the_dashboard(served):
    ours = {name for name in served if name.startswith("perfledger_")}
    names = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in ours}
    queried = " ".join(target["expr"] for _, target in QUERIES)

    assert [name for name in sorted(names) if name not in queried] == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("perfledger_upload", "perfledger_upload is not served"),
        ('up_now{state="failed"}', "up_now has no state of ['failed']"),
        ('up_now{status="lost"}', "up_now has no status of ['lost']"),
        ('up_now{status=~"failed|lost"}', "up_now has no status of ['lost']"),
        ("max by (route) (up_now)", "no series has route"),
        ("rate(up_now[5m])", "rate of up_now"),
        ("sum(up_now)", "sum of up_now"),
        ("sum(sent_total)", "a counter has no rate"),
        ("histogram_quantile(0.5, rate(took_s_sum[5m]))", "took_s_sum has no buckets"),
        ("histogram_quantile(0.5, sum(rate(took_s_bucket[5m])))", "the buckets are added up"),
    ],
)
def test_a_planted_query_has_a_problem(query, problem):
    assert problems_of(query, metrics_of(PLANTED)) == [problem]


@cache
def field_types(model: type) -> dict[str, TypeAdapter[Any]]:
    config = ConfigDict(arbitrary_types_allowed=True)
    return {name: TypeAdapter(hint, config=config) for name, hint in get_type_hints(model).items()}


def misfits(value: Any, place: str = "dashboard") -> Iterator[str]:
    """Yield the places whose values are not of the types that Grafana's schema declares."""
    model: Any = type(value)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from misfits(item, f"{place}[{index}]")
    if isinstance(value, Enum) or not model.__module__.startswith("grafana_foundation_sdk"):
        return
    for name, adapter in field_types(model).items():
        field = getattr(value, name)
        try:
            if adapter.validate_python(field) != field:
                yield f"{place}.{name}"
        except ValueError:
            yield f"{place}.{name}"
        yield from misfits(field, f"{place}.{name}")


def lost_fields(
    given_dashboard: Any, kept_dashboard: Any, place: str = "dashboard"
) -> Iterator[str]:
    """Yield the fields that Grafana's schema does not have."""
    if isinstance(given_dashboard, dict):
        for name, value in given_dashboard.items():
            if name not in kept_dashboard:
                yield f"{place}.{name}"
            else:
                yield from lost_fields(value, kept_dashboard[name], f"{place}.{name}")
    elif isinstance(given_dashboard, list):
        for index, (one, other) in enumerate(zip(given_dashboard, kept_dashboard, strict=True)):
            yield from lost_fields(one, other, f"{place}[{index}]")
    elif given_dashboard != kept_dashboard:
        yield place


def schema_problems(dashboard: dict[str, Any]) -> list[str]:
    """Read a dashboard by Grafana's own types, which are made from its schema, and write it."""
    register_default_plugins()
    model = Dashboard.from_json(dashboard)
    kept_document = json.loads(json.dumps(model, cls=JSONEncoder))
    return [*misfits(model), *lost_fields(dashboard, kept_document)]


def test_the_dashboard_has_the_form_that_grafana_publishes():
    assert schema_problems(DASHBOARD) == []


def planted(**changes):
    """Return the dashboard with changes of its first panel."""
    copy = json.loads(json.dumps(DASHBOARD))
    copy["panels"][1] |= changes
    return copy


@pytest.mark.parametrize(
    ("dashboard", "place"),
    [
        (DASHBOARD | {"titel": "x"}, "dashboard.titel"),
        (DASHBOARD | {"tags": "x"}, "dashboard.tags"),
        (DASHBOARD | {"graphTooltip": 7}, "dashboard.graph_tooltip"),
        (planted(gridPos={"x": "0", "y": 0, "w": 4, "h": 4}), "dashboard.panels[1].grid_pos.x"),
        (planted(options={"graphmode": "area"}), "dashboard.panels[1].options.graphmode"),
        (planted(options={"graphMode": "wide"}), "dashboard.panels[1].options.graph_mode"),
        (
            planted(targets=[{"refId": "A", "expr": 1}]),
            "dashboard.panels[1].targets[0].expr",
        ),
    ],
)
def test_a_planted_field_has_not_that_form(dashboard, place):
    assert place in schema_problems(dashboard)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_has_a_title_a_unit_and_a_sentence(panel):
    defaults = panel["fieldConfig"]["defaults"]

    assert panel["title"]
    assert defaults["unit"]
    assert re.fullmatch(r"[A-Z0-9][^.]*(\.\d[^.]*)*\.", panel["description"])
    assert {
        step["value"] for step in defaults.get("thresholds", {"steps": ()})["steps"]
    } <= THRESHOLDS


@pytest.mark.parametrize(("panel", "target"), QUERIES)
def test_a_query_asks_the_selected_source_for_the_selected_job(panel, target):
    expression = expression_of(target["expr"])
    legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))

    assert panel["datasource"] == target["datasource"] == SELECTED_SOURCE
    assert all('job="$job"' in str(each.matchers) for each in selectors_in(expression))
    assert legend == groups_in(expression) - {"le"}


def test_the_data_source_is_a_variable():
    assert VARIABLES["datasource"]["type"] == "datasource"
    assert VARIABLES["datasource"]["query"] == "prometheus"
    assert VARIABLES["job"]["datasource"] == SELECTED_SOURCE


def test_panels_do_not_overlap_and_their_ids_are_unique():
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < COLUMNS
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
