from perfledger.metrics import METRICS, OPTIONAL_METRICS, MetricKind


def test_every_metric_is_found_by_its_name():
    known_metrics = METRICS | OPTIONAL_METRICS
    assert all(name == metric.name for name, metric in known_metrics.items())
    assert len(known_metrics) == len(METRICS) + len(OPTIONAL_METRICS)
    assert {metric.kind for metric in known_metrics.values()} == set(MetricKind)


def test_metrics_outside_the_default_set_are_optional():
    assert not any(metric.is_optional for metric in METRICS.values())
    assert all(metric.is_optional for metric in OPTIONAL_METRICS.values())
