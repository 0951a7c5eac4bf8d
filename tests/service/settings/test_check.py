import pytest

from perfledger.bundle import Commitment, CostPolicy
from perfledger_service.errors import SettingsError
from perfledger_service.settings.check import CheckSettings, seconds
from perfledger_service.settings.validation import validate_settings

FLEET = {"workload": "x", "where": "y", "device_hours_per_year": 1}
LIMIT = {"team": "nlp", "fail_above_usd_per_year": 1}
USAGE = {"match": {"team": "*"}, "workload": "x", "where": "y"}
DECLARED = {"workload": "x", "device": "d", "units_per_second": 0.5, "source": "s"}
POOL = {"where": "onprem-8xH100", "devices": 1, "busy_hours_per_year": 1}


def check_settings(**values):
    return validate_settings(CheckSettings, values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("250ms", 0.25), ("90s", 90), ("10m", 600), (" 1.5 h ", 5400), (7, 7), (0.5, 0.5)],
)
def test_durations(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "0", "0.0h", "-3s", "1e3", "3 days", "1m30s", None])
def test_what_is_no_duration_is_an_error_that_shows_how_to_write_one(text):
    with pytest.raises(ValueError, match="is not a duration: write 90s"):
        seconds(text)


def test_commitments_and_policies_are_what_the_bundle_carries():
    settings = check_settings(policy=[LIMIT | {"approvers": ["ann_acme"]}], commitment=[POOL])

    assert settings.pricing.policies == (
        CostPolicy(team="nlp", fail_above_usd_per_year=1.0, approvers=("ann_acme",)),
    )
    assert settings.pricing.commitments == (
        Commitment(where="onprem-8xH100", devices=1, busy_hours_per_year=1.0),
    )


def test_plain_settings_are_in_force_as_they_are_and_lists_and_amounts_as_text():
    settings = check_settings(
        metrics=["step_time_p95"], budget="2m", budget_usd="1.50", policy=[LIMIT], fleet=[FLEET]
    )

    in_force = settings.in_force()

    assert settings.metrics == ("step_time_p95",)
    assert (in_force["metrics"], in_force["paths"]) == ("step_time_p95", "benchmarks")
    assert (in_force["budget"], in_force["budget_usd"]) == (120.0, "1.50")
    assert not {"params", "fleet", "policy", "commitment", "usage"} & set(in_force)


def test_a_password_in_a_setting_is_not_in_force_for_all_to_see():
    settings = check_settings(build="pip install -i https://ci:canary@index.example/simple .")

    assert settings.build.count("canary") == 1
    assert settings.in_force()["build"] == "pip install -i https://(hidden)@index.example/simple ."


def test_the_environment_is_read_by_who_keeps_origins_and_not_behind_its_back(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_MARGIN", "0.2")

    assert check_settings().margin == 0.01


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"margin": 0}, "'margin'"),
        ({"metrics": ["step_time_p42"]}, "'metrics"),
        ({"budget": "soon"}, "not a duration"),
        ({"budget": "0s"}, "not a duration"),
        ({"max_pairs": 3}, "'max_pairs'"),
        ({"device": "abacus"}, "'device'"),
        ({"fleet": [{"workload": "x", "hours": 1}]}, "'fleet"),
        ({"fleet": [FLEET | {"low": 2}]}, "must not decrease"),
        ({"fleet": [FLEET | {"high": 0.5}]}, "must not decrease"),
        ({"alpha": 0.5}, "'alpha'"),
        ({"fleet": [FLEET] * 1001}, "'fleet'"),
        ({"policy": [{"team": "nlp"}]}, "give fail_above_usd_per_year"),
        ({"policy": [LIMIT | {"ask_above_usd_per_year": 2}]}, "is more than fail_above"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": -1}]}, "'policy"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": float("inf")}]}, "'policy"),
        ({"policy": [LIMIT | {"approvers": ["a b"]}]}, "'policy"),
        ({"policy": [LIMIT | {"approvers": ["_a"]}]}, "'policy"),
        ({"policy": [LIMIT | {"approvers": ["a"] * 51}]}, "'policy"),
        ({"fleet": [FLEET | {"device_hours_per_year": float("inf")}]}, "'fleet"),
        ({"fleet": [FLEET | {"device_hours_per_year": True}]}, "'fleet"),
        ({"fleet": [FLEET | {"device_hours_per_year": "100"}]}, "'fleet"),
        ({"fleet": [FLEET | {"high": float("nan")}]}, "'fleet"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": float("nan")}]}, "'policy"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": "a lot"}]}, "'policy"),
        ({"policy": [LIMIT | {"workloads": []}]}, "'policy"),
        ({"policy": [LIMIT | {"team": ""}]}, "'policy"),
        ({"policy": [LIMIT | {"limit": 1}]}, "'policy"),
        ({"policy": 3}, "'policy"),
        ({"policy": [LIMIT] * 101}, "'policy'"),
        ({"commitment": [POOL | {"devices": 0}]}, "'commitment"),
        ({"commitment": [POOL | {"busy_hours_per_year": 8761}]}, "above the 8760 hours"),
        ({"commitment": [POOL | {"devices_per_job": 2}]}, "devices_per_job is"),
        ({"commitment": [POOL | {"job_hours": 0}]}, "'commitment"),
        ({"commitment": [POOL, POOL]}, "add their devices up"),
        ({"usage": [{"match": {}, "workload": "x", "where": "y"}]}, "'usage"),
        ({"fail_on": ["flops < 5 %"]}, "write COUNT > THRESHOLD, such as `flops > 5 %`"),
        ({"fail_on": ["speed > 5 %"]}, "choose from flops, bytes, operators"),
        ({"fail_on": ["flops > 5 %"] * 21}, "'fail_on'"),
    ],
)
def test_a_wrong_value_names_the_setting(values, message):
    with pytest.raises(SettingsError, match=message):
        check_settings(**values)


def test_a_build_is_a_command_that_the_bundle_can_hold():
    settings = check_settings(build="pip install .", build_timeout="1h", isolated=True)

    in_force = settings.in_force()

    assert (in_force["build"], in_force["isolated"]) == ("pip install .", True)
    assert in_force["build_timeout"] == 3600.0
    with pytest.raises(SettingsError, match="build"):
        check_settings(build="x" * 301)


def test_limits_are_kept_as_they_are_written_less_spare_blanks():
    settings = check_settings(fail_on=["flops  >  5 %", "compiled_memory > device"])

    assert settings.fail_on == ("flops > 5 %", "compiled_memory > device")


@pytest.mark.parametrize("cores", ["auto", "all", "free", "0", "0-3,8"])
def test_cores_are_named_or_listed(cores):
    assert check_settings(cores=cores).cores == cores


@pytest.mark.parametrize("cores", ["", "some", "3-0", "-1", "0;1"])
def test_what_is_no_list_of_cores_says_what_is(cores):
    with pytest.raises(SettingsError, match="auto, all, free, or a list of cores such as 0-3,8"):
        check_settings(cores=cores)


def test_all_cores_are_used_where_the_result_may_be_stored_unless_they_are_set():
    usual, chosen = check_settings(), check_settings(cores="0-3")

    assert usual.core_choice(is_stored=True) == "all"
    assert usual.core_choice(is_stored=False) == "free"
    assert {chosen.core_choice(is_stored=each) for each in (True, False)} == {"0-3"}


def test_variables_are_named_whole_or_by_a_prefix():
    assert check_settings(env=["WANDB_API_KEY", "WANDB_*"]).env == ("WANDB_API_KEY", "WANDB_*")
    with pytest.raises(SettingsError, match="GITHUB_TOKEN is never passed on"):
        check_settings(env=["GITHUB_TOKEN"])
    with pytest.raises(SettingsError, match="is not the name of a variable"):
        check_settings(env=["A=B"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2us", 2e-6), ("2ms", 0.002), ("2s", 2), ("2", 2), ("2m", 120), ("2h", 7200), ("0.5s", 0.5)],
)
def test_each_unit_of_a_duration_has_its_seconds(text, expected):
    assert seconds(text) == pytest.approx(expected)


def test_what_is_not_set_is_as_the_documentation_says():
    settings = check_settings()

    assert (settings.margin, settings.floor, settings.alpha) == (0.01, 0.003, 0.05)
    assert (settings.max_pairs, settings.budget, settings.timeout) == (20, 600, 300)
    assert settings.build_timeout == 1800
    assert (settings.budget_usd, settings.metrics) == (None, ())


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("margin", [0.001, 0.999], [0, 1]),
        ("floor", [0.001, 0.999], [0, 1]),
        ("alpha", [0.001, 0.499], [0, 0.5]),
        ("max_pairs", [4, 1000], [3, 1001]),
        ("budget_usd", ["0.01"], ["0", "-1", "inf"]),
        ("build", ["x" * 300], ["x" * 301]),
        ("policy", [[LIMIT | {"team": "t"}]], [[LIMIT | {"team": ""}]]),
        ("policy", [[LIMIT | {"team": "t" * 100}]], [[LIMIT | {"team": "t" * 101}]]),
        ("policy", [[LIMIT | {"workloads": ["a"]}]], [[LIMIT | {"workloads": []}]]),
        ("policy", [[LIMIT | {"fail_above_usd_per_year": 0}]], []),
        ("policy", [], [[LIMIT | {"fail_above_usd_per_year": -0.5}]]),
        ("policy", [[LIMIT | {"ask_above_usd_per_year": 1}]], []),
        ("policy", [], [[LIMIT | {"ask_above_usd_per_year": 1.5}]]),
        ("commitment", [[POOL | {"devices": 100_000}]], [[POOL | {"devices": 100_001}]]),
        ("commitment", [], [[POOL | {"devices": 0, "busy_hours_per_year": 0}]]),
        ("commitment", [[POOL | {"devices_per_job": 1}]], [[POOL | {"devices_per_job": 0}]]),
        ("commitment", [[POOL | {"busy_hours_per_year": 8760}]], []),
        ("commitment", [], [[POOL | {"busy_hours_per_year": 8760.5}]]),
        ("commitment", [[POOL | {"busy_hours_per_year": 0}]], []),
        ("commitment", [[POOL | {"job_hours": 0.5}]], [[POOL | {"job_hours": 0}]]),
        (
            "variants",
            [{"m:f": ["eager", "compile"]}, {}],
            [{"m:f": ["fast"]}, {"m:f": ["jit", "jit"]}],
        ),
        ("fleet", [[FLEET | {"low": 1, "high": 1}]], [[FLEET | {"low": 1.5}]]),
        ("fleet", [[FLEET | {"device_hours_per_year": 0}]], [[FLEET | {"high": 0.5}]]),
        ("usage", [[USAGE]], [[USAGE | {"match": {}}]]),
        ("declared", [[DECLARED]], [[DECLARED | {"units_per_second": 0}]]),
    ],
)
def test_a_setting_is_accepted_up_to_its_limits(name, accepted, refused):
    for value in accepted:
        check_settings(**{name: value})
    for value in refused:
        with pytest.raises(SettingsError):
            check_settings(**{name: value})


def test_a_wrong_variant_names_the_workload():
    with pytest.raises(SettingsError, match="'variants' is wrong: m:f: variant 'fast' is not one"):
        check_settings(variants={"m:g": ["jit"], "m:f": ["fast"]})
