"""A bundle survives its journey unchanged, and nothing else gets in."""

import gzip
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.bundle import (
    BUNDLE_VERSION,
    Bundle,
    DeclaredThroughput,
    FleetUse,
    Plan,
    PricingConfig,
)
from perfledger.metrics import METRICS
from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import (
    CoreTimes,
    Device,
    Failure,
    FailureReason,
    Framework,
    Machine,
    Revision,
    Run,
    Side,
    WorkloadSpec,
)
from perfledger_runners.bundles import files as bundle_files
from perfledger_runners.bundles.files import read_bundle, write_bundle
from perfledger_runners.bundles.value_checks import BundleError
from tests.suite.tries import tries

SPEC = WorkloadSpec(
    id="gpt:train[batch=8]",
    module="gpt",
    function="train",
    params={"batch": 8, "name": "a", "rate": 1.0, "fused": True},
    unit="tokens",
    units_per_step=8192.0,
    device="cuda",
    framework=Framework.TORCH,
)
BUNDLE = Bundle(
    id="0123456789abcdef" * 2,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40, ref="main", subject="before"),
    head=Revision(sha="b" * 40, ref="work tree", subject="after", is_dirty=True),
    machine=Machine(
        device=Device.CUDA,
        model="NVIDIA H100 80GB HBM3",
        uuid="GPU-1",
        memory_bytes=80 * 2**30,
        frameworks={"torch": "2.13.0"},
    ),
    plan=Plan(seed=7, order=(Side.BASE, Side.HEAD), looks=(4, 8)),
    workloads=(SPEC,),
    metrics=tuple(METRICS.values()),
    runs=(
        Run(
            workload=SPEC.id,
            side=Side.BASE,
            pair=0,
            position=0,
            process=0,
            started_at="2026-11-20T12:00:01+00:00",
            samples={"step_time_p50": (0.1, 0.2), "sm_active": (0.0, 0.5), "cpu_time": (0.3,)},
            core_times=CoreTimes(elapsed_s=(0.15,), queued_s=(0.01,), helpers_s=(0.2,)),
            warmups_s=(1.5,),
            left_out={"throttled": 1},
        ),
    ),
    failures=(
        Failure(workload="vit:infer", side=Side.HEAD, why=FailureReason.HUNG, detail="no end"),
    ),
    new_workloads=("new:one",),
    skipped={"same:one": "same kernels"},
    profiles=(
        Profile(
            workload=SPEC.id,
            side=Side.HEAD,
            tool="torch.profiler",
            steps=4,
            step_seconds=0.1,
            operations=(Operation(name="aten::mm", bucket=Bucket.COMPUTE, seconds=0.1, count=2.0),),
        ),
    ),
    repeats=(
        Profile(
            workload=SPEC.id,
            side=Side.HEAD,
            tool="torch.profiler",
            steps=4,
            step_seconds=0.11,
            operations=(Operation(name="aten::mm", bucket=Bucket.COMPUTE, seconds=0.2, count=2.0),),
        ),
    ),
    pricing=PricingConfig(
        fleet=(
            FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=1e4),
        ),
        declared=(
            DeclaredThroughput(
                workload="gpt:*", device="H100-80GB", units_per_second=4.1e5, source="a test"
            ),
        ),
    ),
    repository="owner/name",
    pull_request=7,
    settings={"margin": 0.01, "device": "auto", "max_pairs": 20, "is_local": True},
    logs={"0": "Loading weights…\n"},
    notes=("the governor is 'powersave'",),
    perfledger="0.1.0",
)


def document(bundle=BUNDLE):
    return json.loads(bundle.to_json())


def changed(path, value, *, start=BUNDLE):
    """The bundle's JSON with one field set: a path such as "runs.0.pair"."""
    made_document = document(start)
    *parents, last = path.split(".")
    target = made_document
    for key in parents:
        target = target[int(key)] if key.isdecimal() else target[key]
    target[int(last) if last.isdecimal() else last] = value
    return json.dumps(made_document).encode()


WORDS = st.text(st.characters(exclude_categories=["C"]), max_size=30)
POSITIVE = st.floats(min_value=1e-300, max_value=1e300)
READINGS = st.floats(min_value=1e-300, max_value=3.4e38)
REVISIONS = st.builds(
    Revision,
    sha=st.from_regex(r"[0-9a-f]{40}", fullmatch=True),
    ref=WORDS,
    subject=WORDS,
    is_dirty=st.booleans(),
)
PARAMS = st.dictionaries(
    WORDS, WORDS | st.integers(-(2**53), 2**53) | POSITIVE | st.booleans(), max_size=3
)
RUNS = st.builds(
    Run,
    workload=st.just(SPEC.id),
    side=st.sampled_from(Side),
    pair=st.integers(0, 99),
    position=st.integers(0, 1),
    process=st.integers(0, 999),
    started_at=st.just("2026-11-20T12:00:00+00:00"),
    samples=st.dictionaries(
        st.sampled_from(list(METRICS)),
        st.lists(READINGS, min_size=1, max_size=4).map(tuple),
        min_size=1,
    ),
    warmups_s=st.lists(POSITIVE, max_size=3).map(tuple),
    left_out=st.dictionaries(WORDS, st.integers(0, 99), max_size=2),
    device=st.sampled_from([None, *sorted(set(Device) - {Device.IMPORTED})]),
    devices=st.integers(1, 99),
)
FAILURES = st.builds(
    Failure,
    workload=WORDS,
    side=st.sampled_from(Side),
    why=st.sampled_from(FailureReason),
    detail=WORDS,
    pair=st.integers(0, 9),
    log_tail=WORDS,
)
BUNDLES = st.builds(
    replace,
    st.just(BUNDLE),
    base=REVISIONS,
    head=REVISIONS,
    runs=st.lists(RUNS, max_size=3).map(tuple),
    failures=st.lists(FAILURES, max_size=3).map(tuple),
    settings=PARAMS,
    logs=st.dictionaries(WORDS, WORDS, max_size=2),
    notes=st.lists(WORDS, max_size=2).map(tuple),
    pull_request=st.none() | st.integers(1, 10**6),
)


@pytest.mark.slow(ci_only=True)
@settings(max_examples=tries(80))
@given(BUNDLES)
def test_a_bundle_is_read_as_it_was_written(bundle):
    data = bundle.to_json().encode()

    assert read_bundle(data) == bundle
    assert read_bundle(gzip.compress(data)) == bundle


def test_values_keep_their_types():
    bundle = read_bundle(BUNDLE.to_json().encode())

    assert bundle == BUNDLE
    params = bundle.workloads[0].params
    assert {name: type(value) for name, value in params.items()} == {
        "batch": int,
        "name": str,
        "rate": float,
        "fused": bool,
    }
    assert isinstance(bundle.runs[0].side, Side)


def test_a_written_bundle_is_whole_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "spool" / "bundle.json"

    write_bundle(BUNDLE, path)
    write_bundle(replace(BUNDLE, perfledger="0.2.0"), path)

    assert read_bundle(path.read_bytes()).perfledger == "0.2.0"
    assert [each.name for each in path.parent.iterdir()] == ["bundle.json"]


def test_a_bundle_that_cannot_be_written_leaves_what_was_there(tmp_path):
    path = tmp_path / "bundle.json"
    write_bundle(BUNDLE, path)

    with pytest.raises(ValueError, match="Out of range float"):
        write_bundle(replace(BUNDLE, settings={"margin": float("nan")}), path)

    assert read_bundle(path.read_bytes()) == BUNDLE
    assert [each.name for each in tmp_path.iterdir()] == ["bundle.json"]


def test_a_field_that_this_version_does_not_know_is_left_alone():
    assert read_bundle(changed("colour", "blue")) == BUNDLE


def test_a_bundle_from_before_there_were_repeats_is_read():
    old = document()
    del old["repeats"]

    assert read_bundle(json.dumps(old).encode()) == replace(BUNDLE, repeats=())


def test_a_newer_version_is_refused_with_advice():
    with pytest.raises(
        BundleError,
        match=rf"^bundle version {BUNDLE_VERSION + 1} is newer than this perfledger reads "
        rf"\({BUNDLE_VERSION}\): update perfledger$",
    ):
        read_bundle(changed("version", BUNDLE_VERSION + 1))


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None])
def test_a_version_that_is_none_is_refused(version):
    with pytest.raises(BundleError, match=r"^version: "):
        read_bundle(changed("version", version))


@pytest.mark.parametrize("name", ["", "pyperf", None])
def test_another_format_is_refused(name):
    with pytest.raises(BundleError, match="its format is not 'perfledger-bundle'"):
        read_bundle(changed("format", name))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not valid JSON"),
        (b"hello", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"id": 1, "id": 2}', "'id' is a duplicate"),
        (b'{"a": [{"b": 1, "b": 1}]}', "'b' is a duplicate"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": {"b": [1.0, 1e400]}}', r"a\.b\[1\]: a number that cannot be stored"),
        (b'{"a": 9223372036854775808}', "a: a number that cannot be stored"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"a": "\\ud800"}', "half a surrogate pair"),
        (b'{"a": "\\u0000"}', "NUL"),
        (b'{"a\\u0000": 1}', "NUL"),
        (b'{"a": "' + b"x" * 301 + b'"}', "more than 300 characters"),
    ],
)
def test_what_is_no_json_of_ours_is_refused(data, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(data)


def test_logs_that_pack_like_a_bomb_are_no_bomb():
    bundle = replace(BUNDLE, logs={str(number): "10 %\n" * 3200 for number in range(100)})
    packed = gzip.compress(bundle.to_json().encode())

    assert len(bundle.to_json()) > bundle_files.MAX_RATIO * len(packed)
    assert read_bundle(packed) == bundle


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("id", "short", "^id: not 32"),
        ("id", 7, r"\$\.id"),
        ("created_at", "yesterday", "^created_at"),
        ("created_at", "2026-11-20T12:00:00", "^created_at"),
        ("created_at", "2026-11-20T12:00:00+02:00", "^created_at"),
        ("base.sha", "main", r"^base\.sha"),
        ("head.sha", "B" * 40, r"^head\.sha"),
        ("base", None, r"\$\.base"),
        ("repository", "a/b/c", "^repository"),
        ("repository", "<b>", "^repository"),
        ("pull_request", 0, "^pull_request"),
        ("pull_request", "7", r"\$\.pull_request"),
        ("undecided", "success", "^undecided"),
        ("machine.device", "abacus", r"\$\.machine\.device"),
        ("machine.count", 0, r"^machine\.count"),
        ("machine.cores", 0, r"^machine\.cores"),
        ("machine.memory_bytes", 0, r"^machine\.memory_bytes"),
        ("plan.order", ["left"], r"^plan\.order"),
        ("plan.order", ["base"] * 10_001, r"^plan\.order: more than"),
        ("plan.looks", [4, 4], r"^plan\.looks"),
        ("plan.looks", [0, 4], r"^plan\.looks"),
        ("plan.looks", list(range(1, 102)), r"^plan\.looks: more than 100"),
        ("plan.alpha", 0, r"^plan\.alpha"),
        ("plan.alpha", 1, r"^plan\.alpha"),
        ("plan.margin", 0, r"^plan\.margin"),
        ("plan.floor", -0.1, r"^plan\.floor"),
        ("workloads.0.id", "x" * 301, r"^workloads\[0\]\.id: a text of more than 300"),
        ("workloads.0.units_per_step", 0, r"^workloads\[0\]\.units_per_step"),
        ("workloads.0.params", {"a": []}, r"\$\.workloads"),
        ("metrics.0.worse", "sideways", r"\$\.metrics"),
        ("runs.0.workload", "unknown", r"^runs\[0\]\.workload"),
        ("runs.0.samples", {}, "metric without samples"),
        ("runs.0.samples", {"step_time_p50": []}, "metric without samples"),
        ("runs.0.samples", {"mystery": [1.0]}, r"^runs\[0\]\.samples: 'mystery'"),
        ("runs.0.samples", {"step_time_p50": [0.0]}, r"^runs\[0\]\.samples\.step_time_p50"),
        ("runs.0.samples", {"step_time_p50": [-1.0]}, r"^runs\[0\]\.samples\.step_time_p50"),
        ("runs.0.samples", {"step_time_p50": [3.5e38]}, r"^runs\[0\]\.samples\.step_time_p50"),
        ("runs.0.samples", {"step_time_p50": ["1"]}, r"\$\.runs"),
        ("runs.0.pair", -1, r"^runs\[0\]\.pair"),
        ("runs.0.pair", 10_000, r"^runs\[0\]\.pair"),
        ("runs.0.position", 2, r"^runs\[0\]\.position"),
        ("runs.0.process", -1, r"^runs\[0\]\.process"),
        ("runs.0.started_at", "now", r"^runs\[0\]\.started_at"),
        ("runs.0.warmups_s", [-1.0], r"^runs\[0\]\.warmups_s"),
        ("runs.0.left_out", {"odd": -1}, r"^runs\[0\]\.left_out"),
        ("runs.0.core_times.queued_s", [0.5], r"^runs\[0\]\.core_times"),
        ("failures.0.why", "bored", r"\$\.failures"),
        ("failures.0.detail", "x" * 4001, r"^failures\[0\]\.detail: a text of more than 4000"),
        ("failures.0.log_tail", "x" * 20_001, r"^failures\[0\]\.log_tail"),
        ("logs", {"0": "x" * 20_001}, r"^logs\.0: a text"),
        ("profiles.0.workload", "unknown", r"^profiles\[0\]\.workload"),
        ("profiles.0.steps", 0, r"^profiles\[0\]\.steps"),
        ("profiles.0.step_seconds", 0.0, r"^profiles\[0\]\.step_seconds"),
        ("profiles.0.dropped_events", -1, r"^profiles\[0\]\.dropped_events"),
        ("profiles.0.operations.0.seconds", -1.0, "'aten::mm' is negative"),
        ("pricing.fleet.0.low", 1e9, r"^pricing\.fleet\[0\]"),
        ("pricing.fleet.0.device_hours_per_year", -1, r"^pricing\.fleet\[0\]"),
        ("pricing.declared.0.units_per_second", 0, r"^pricing\.declared\[0\]"),
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(path, value, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(changed(path, value))


@pytest.mark.parametrize(
    "bundle",
    [
        pytest.param(replace(BUNDLE, workloads=(SPEC, SPEC)), id="two workloads of one id"),
        pytest.param(replace(BUNDLE, metrics=BUNDLE.metrics * 2), id="two metrics of one name"),
        pytest.param(
            replace(
                BUNDLE,
                workloads=tuple(replace(SPEC, id=f"w{i}") for i in range(2001)),
                runs=(),
                profiles=(),
            ),
            id="too many workloads",
        ),
    ],
)
def test_lists_have_limits_and_no_doubles(bundle):
    with pytest.raises(BundleError, match=r"^(workloads|metrics): "):
        read_bundle(bundle.to_json().encode())


def test_a_bundle_of_failures_only_is_a_bundle():
    bundle = replace(BUNDLE, workloads=(), runs=(), profiles=(), repeats=())

    assert read_bundle(bundle.to_json().encode()) == bundle


@pytest.mark.slow
@given(st.binary(max_size=300))
def test_any_bytes_are_a_bundle_or_a_bundle_error(noise):
    with pytest.raises(BundleError):
        read_bundle(noise)
