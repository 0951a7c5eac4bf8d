import pytest
from hypothesis import given, settings, strategies as st

import perfledger
from perfledger.records import Framework, WorkloadSpec
from perfledger.step_evidence import MAX_STEPS_PER_READING
from perfledger.workload import REGISTERED_WORKLOADS, PreparedStep, WorkloadError


@pytest.fixture(autouse=True)
def _own_registry(clean_process):
    """What a test registers is forgotten after it."""


def step():
    pass


def plain_step():
    return step


def batched(batch=8, kind="gelu", device="cpu"):
    return lambda: (batch, kind, device)


def needy(batch):
    return lambda: batch


def registered(function, **arguments):
    perfledger.workload(**arguments)(function)
    return REGISTERED_WORKLOADS[f"{function.__module__}:{function.__name__}"]


def specs(function, *, values=None, **arguments):
    return registered(function, **arguments).specs(framework=Framework.HOST, values=values)


def test_the_decorated_function_stays_what_it_was():
    assert perfledger.workload()(plain_step) is plain_step


def test_a_workload_without_a_grid_is_named_module_and_function():
    assert specs(plain_step) == (
        WorkloadSpec(id=f"{__name__}:plain_step", module=__name__, function="plain_step"),
    )


def test_a_grid_makes_one_workload_for_each_point_in_its_order():
    all_specs = specs(batched, params={"batch": [8, 16], "kind": ["gelu", "relu"]})

    assert [spec.id.partition("[")[2] for spec in all_specs] == [
        "batch=8,kind=gelu]",
        "batch=8,kind=relu]",
        "batch=16,kind=gelu]",
        "batch=16,kind=relu]",
    ]
    assert all_specs[3].params == {"batch": 16, "kind": "relu"}


def test_values_of_the_configuration_replace_those_of_the_decorator():
    all_specs = specs(batched, params={"batch": [8, 16]}, values={"batch": [64], "kind": ["relu"]})

    assert [spec.params for spec in all_specs] == [{"batch": 64, "kind": "relu"}]


def test_the_device_is_no_parameter_to_choose():
    with pytest.raises(WorkloadError, match="no parameter 'device'; its parameters: batch, kind"):
        registered(batched, params={"device": ["cpu"]})


def test_an_unknown_parameter_in_the_configuration_is_named():
    with pytest.raises(WorkloadError, match=r"batched.* no parameter 'bacth'"):
        specs(batched, values={"bacth": [1]})


def test_a_function_without_parameters_has_a_number_of_devices_alone():
    with pytest.raises(WorkloadError, match="its parameters: devices"):
        registered(plain_step, params={"batch": [1]})


def test_the_number_of_devices_is_declared_or_in_the_grid():
    def sharded(devices: int): ...

    (fixed,) = specs(sharded, devices=8, launch="mpirun -n {devices}")
    grid = specs(
        plain_step, params={"devices": [1, 4]}, units_per_step=lambda devices: 2.0 * devices
    )

    assert (fixed.id.endswith("sharded"), fixed.devices) == (True, 8)
    assert fixed.launch == "mpirun -n {devices}"
    assert registered(sharded, devices=8).arguments(fixed, "cpu") == {"devices": 8}
    assert [(spec.params, spec.devices) for spec in grid] == [
        ({"devices": 1}, 1),
        ({"devices": 4}, 4),
    ]
    assert [spec.units_per_step for spec in grid] == [2.0, 8.0]
    assert registered(plain_step).arguments(grid[1], "cpu") == {}


def test_a_default_of_the_function_is_kept_where_no_devices_are_declared():
    def own(devices: int = 3): ...

    (spec,) = specs(own)

    assert spec.devices == 1
    assert registered(own).arguments(spec, "cpu") == {}


@pytest.mark.parametrize("devices", [0, -1, 65, 2.0, True, "2"])
def test_an_impossible_number_of_devices_is_refused(devices):
    with pytest.raises(WorkloadError, match="is not a number from 1 to 64"):
        registered(plain_step, devices=devices)
    with pytest.raises(WorkloadError, match="is not a number from 1 to 64"):
        specs(plain_step, values={"devices": [devices]})


@pytest.mark.parametrize("launch", ["torchrun 'half", " ", "a\nb", "x" * 501, None])
def test_a_launch_that_is_no_command_is_refused(launch):
    with pytest.raises(WorkloadError, match="is not a command of at most 500 letters"):
        registered(plain_step, launch=launch)


def test_a_parameter_without_a_value_is_named():
    with pytest.raises(WorkloadError, match="parameter 'batch' has no value"):
        registered(needy)


def test_an_id_fits_a_table():
    def long(a, b, c):
        return lambda: (a, b, c)

    with pytest.raises(WorkloadError, match="its id has more than 300 letters: shorten"):
        specs(long, params={name: ["x" * 100] for name in "abc"})


@pytest.mark.parametrize("steps", [0, -1, MAX_STEPS_PER_READING + 1])
def test_a_reading_has_a_possible_number_of_steps(steps):
    with pytest.raises(WorkloadError, match=f"cannot have {steps} steps: give a number from 1 to"):
        PreparedStep(step, step, steps)


def test_a_grid_gives_a_parameter_its_value():
    assert [spec.params for spec in specs(needy, params={"batch": [4]})] == [{"batch": 4}]


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        pytest.param([], "needs values, each only once", id="none"),
        pytest.param([1, 1], "needs values, each only once", id="twice"),
        pytest.param([1, "1"], "needs values, each only once", id="twice the same id"),
        pytest.param([float("nan")], "not a finite number", id="nan"),
        pytest.param([float("inf")], "not a finite number", id="infinite"),
        pytest.param([""], "not a printable text", id="empty"),
        pytest.param(["a\nb"], "not a printable text", id="two lines"),
        pytest.param(["x" * 101], "at most 100 letters", id="too long"),
        pytest.param(["a,b=1"], "holds one of", id="comma"),
        pytest.param(["a]"], "holds one of", id="bracket"),
        pytest.param(["`rm`"], "holds one of", id="code span"),
        pytest.param([None], "neither a number nor a text", id="None"),
        pytest.param([[8]], "neither a number nor a text", id="list"),
    ],
)
def test_a_value_that_cannot_be_part_of_an_id_is_refused(values, fault):
    with pytest.raises(WorkloadError, match=fault):
        registered(batched, params={"batch": values})


@settings(deadline=None)
@given(
    values=st.lists(
        st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=5,
        unique_by=str,
    )
)
def test_different_points_of_a_grid_have_different_ids(values):
    all_specs = specs(batched, params={"batch": values})

    assert len({spec.id for spec in all_specs}) == len(values)


def test_the_units_of_a_step_may_be_a_number():
    (spec,) = specs(plain_step, unit="tokens", units_per_step=8 * 1024)

    assert (spec.unit, spec.units_per_step) == ("tokens", 8192.0)


def test_the_units_of_a_step_may_follow_from_the_parameters():
    all_specs = specs(batched, units_per_step=lambda batch: batch * 2, params={"batch": [8, 16]})

    assert [spec.units_per_step for spec in all_specs] == [16.0, 32.0]


def test_the_units_of_a_step_may_follow_from_a_default():
    assert specs(batched, units_per_step=lambda batch: batch * 2)[0].units_per_step == 16.0


def test_units_that_want_a_parameter_the_workload_has_not_are_an_error():
    with pytest.raises(WorkloadError, match="units_per_step needs 'tokens'"):
        specs(batched, units_per_step=lambda tokens: tokens)


@pytest.mark.parametrize("units", [0, -1, float("nan"), float("inf"), True, "8", None])
def test_units_that_are_no_positive_number_are_refused(units):
    with pytest.raises(WorkloadError, match="neither a positive number nor a function"):
        registered(plain_step, units_per_step=units)


@pytest.mark.parametrize("units", [0, -1.0, True, "8", None])
def test_computed_units_that_are_no_positive_number_are_refused(units):
    with pytest.raises(WorkloadError, match="not a positive number"):
        specs(plain_step, units_per_step=lambda: units)


@pytest.mark.parametrize("unit", ["", "x" * 41, "a\nb", None])
def test_a_unit_that_is_no_word_is_refused(unit):
    with pytest.raises(WorkloadError, match="not a word of at most 40 letters"):
        registered(plain_step, unit=unit)


@pytest.mark.parametrize("values", [8, "gelu", None])
def test_a_single_value_is_told_to_be_a_list(values):
    with pytest.raises(WorkloadError, match="for 'batch': write a list of values"):
        registered(batched, params={"batch": values})


def test_an_unknown_device_is_refused():
    with pytest.raises(WorkloadError, match="device 'gpu' is not one of auto, cpu, cuda, tpu"):
        registered(plain_step, device="gpu")


def test_an_unknown_framework_is_refused():
    with pytest.raises(WorkloadError, match="framework 'tf' is not one of torch, jax, host"):
        registered(plain_step, framework="tf")


def test_a_declared_framework_is_kept():
    assert registered(plain_step, framework="jax").framework is Framework.JAX


def test_only_a_function_that_asks_for_the_device_is_told():
    (spec,) = specs(plain_step)

    assert registered(batched).arguments(spec, "cuda") == {"device": "cuda"}
    assert registered(plain_step).arguments(spec, "cuda") == {}


def test_functions_of_one_name_that_a_loop_makes_are_an_error_and_no_last_one_wins():
    def result():
        def step_of_loop():
            return None

        return step_of_loop

    first = perfledger.workload(result())
    perfledger.workload(first)

    with pytest.raises(WorkloadError, match=r"several functions of this name: use params"):
        perfledger.workload(result())


def test_two_workloads_of_one_name_are_an_error_that_names_both_places():
    def make(line):
        source = "\n" * line + "def twin():\n    return None\n"
        names = {"__name__": "benchmarks.twin"}
        exec(compile(source, f"file{line}.py", "exec"), names)
        return names["twin"]

    perfledger.workload()(make(1))

    with pytest.raises(WorkloadError, match=r"at file5.py:6: .*registered at file1.py:2 already"):
        perfledger.workload()(make(5))


def test_the_same_function_imported_again_replaces_itself():
    perfledger.workload(unit="old")(plain_step)

    assert registered(plain_step, unit="new").unit == "new"


def test_a_lambda_needs_a_name():
    with pytest.raises(WorkloadError, match="it needs a name"):
        perfledger.workload()(lambda: step)


def test_a_class_is_not_a_function():
    with pytest.raises(WorkloadError, match="is not a function: decorate the function"):
        perfledger.workload()(type("Step", (), {}))


def test_a_check_and_its_tolerance_are_kept():
    registered_workload = registered(plain_step, check=len, check_tolerance=0.05)

    assert (registered_workload.check, registered_workload.check_tolerance) == (len, 0.05)


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan")])
def test_a_tolerance_is_a_share(tolerance):
    with pytest.raises(WorkloadError, match=r"check_tolerance .* is not a share"):
        registered(plain_step, check=len, check_tolerance=tolerance)


def test_the_decorator_needs_no_parentheses():
    assert perfledger.workload(plain_step) is plain_step
    assert REGISTERED_WORKLOADS[f"{__name__}:plain_step"].unit == "steps"


def test_a_time_limit_and_tags_are_part_of_the_spec():
    (spec,) = specs(plain_step, timeout=90, tags=["slow", "gpu:a100"])

    assert (spec.timeout, spec.tags) == (90, ("slow", "gpu:a100"))


def test_tags_are_a_list():
    with pytest.raises(WorkloadError, match="tags is 'slow': write a list of words"):
        registered(plain_step, tags="slow")


def test_a_fault_names_the_workload_and_its_place():
    with pytest.raises(WorkloadError, match=r"workload '.*:plain_step' at .*: timeout 0 is not"):
        registered(plain_step, timeout=0)


def test_a_margin_and_metrics_are_part_of_the_spec():
    (spec,) = specs(plain_step, margin=0.05, metrics=["step_time_p50", "peak_memory"])

    assert (spec.margin, spec.metrics) == (0.05, ("step_time_p50", "peak_memory"))


@pytest.mark.parametrize("margin", [0, 1, -0.1, float("nan"), True, "2 %"])
def test_a_margin_is_a_relative_change(margin):
    with pytest.raises(WorkloadError, match=r"margin .* is not a relative change above 0"):
        registered(plain_step, margin=margin)


def test_only_metrics_with_a_verdict_can_judge_a_workload():
    with pytest.raises(WorkloadError, match="metrics has 'cpu_active', which is not one of step_"):
        registered(plain_step, metrics=["cpu_active"])
    with pytest.raises(WorkloadError, match="metrics has a name twice: cpu_time, cpu_time"):
        registered(plain_step, metrics=["cpu_time", "cpu_time"])
    with pytest.raises(WorkloadError, match="metrics is 'cpu_time': write a list of words"):
        registered(plain_step, metrics="cpu_time")


def test_each_variant_is_a_workload_beside_the_step_as_it_is_written():
    all_specs = specs(batched, params={"batch": [8]}, variants=["eager", "compile", "jit:donate"])

    assert [(spec.id.partition(":")[2], spec.variant) for spec in all_specs] == [
        ("batched[batch=8]", ""),
        ("batched[batch=8,variant=compile]", "compile"),
        ("batched[batch=8,variant=jit:donate]", "jit:donate"),
    ]
    assert {str(spec.params) for spec in all_specs} == {"{'batch': 8}"}


def test_variants_of_the_configuration_replace_those_of_the_decorator():
    workload = registered(plain_step, variants=["eager", "compile"])

    chosen = workload.specs(framework=Framework.HOST, variants=("cudagraphs",))
    none = workload.specs(framework=Framework.HOST, variants=())

    assert [spec.variant for spec in chosen] == ["cudagraphs"]
    assert [spec.id for spec in none] == [f"{__name__}:plain_step"]


@pytest.mark.parametrize(
    ("variants", "what"),
    [
        ("compile", "variants is 'compile': write a list of words"),
        (["fast"], "variant 'fast' is not one of eager, compile"),
        (["eager", "eager"], "each only once"),
    ],
)
def test_variants_are_a_list_of_known_names(variants, what):
    with pytest.raises(WorkloadError, match=what):
        registered(plain_step, variants=variants)


def test_variants_of_the_configuration_are_checked_too():
    with pytest.raises(WorkloadError, match="'fast' is not one of"):
        registered(plain_step).specs(framework=Framework.HOST, variants=("fast",))


def test_a_parameter_cannot_have_the_name_that_an_id_has_for_variants():
    def named(variant=1):
        return lambda: variant

    assert len(specs(named, params={"variant": [1, 2]})) == 2
    REGISTERED_WORKLOADS.clear()
    with pytest.raises(WorkloadError, match="variants and a parameter 'variant': rename"):
        registered(named, variants=["compile"])
