import pytest

from perfledger_cost_models.prices.accelerator_names import nominal_bytes
from perfledger_cost_models.prices.mig_profiles import MIG_PARTS, mig_milli, mig_share

# Of NVIDIA's MIG user guide, "Supported MIG Profiles": how many of each kind fit on one GPU.
INSTANCES = {
    "NVIDIA A100-SXM4-40GB": {
        "1g.5gb": 7,
        "1g.10gb": 4,
        "2g.10gb": 3,
        "3g.20gb": 2,
        "4g.20gb": 1,
        "7g.40gb": 1,
    },
    "NVIDIA H100 80GB HBM3": {
        "1g.10gb": 7,
        "1g.20gb": 4,
        "2g.20gb": 3,
        "3g.40gb": 2,
        "4g.40gb": 1,
        "7g.80gb": 1,
    },
    "NVIDIA H200": {
        "1g.18gb": 7,
        "1g.35gb": 4,
        "2g.35gb": 3,
        "3g.71gb": 2,
        "4g.71gb": 1,
        "7g.141gb": 1,
    },
    "NVIDIA A30": {"1g.6gb": 4, "2g.12gb": 2, "4g.24gb": 1},
}
PROFILES = [(model, *row) for model, rows in INSTANCES.items() for row in rows.items()]


@pytest.mark.parametrize(("model", "profile", "number"), PROFILES)
def test_as_many_instances_of_a_profile_fill_a_gpu_as_fit_on_it(model, profile, number):
    share = mig_share(profile, gpu_bytes=nominal_bytes(model))

    assert share is not None
    assert int(1 / share) == number


@pytest.mark.parametrize(("model", "profile", "number"), PROFILES)
def test_the_profile_tells_the_share_without_the_model_but_for_one_name(model, profile, number):
    is_ambiguous = (model, profile) == ("NVIDIA A100-SXM4-40GB", "1g.10gb")

    assert int(1 / (mig_share(profile) or 1)) == (7 if is_ambiguous else number)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("3g.40gb", 1 / 2),
        ("a100_3g.20gb", 1 / 2),
        ("nvidia_com_mig_2g_10gb", 2 / 7),
        ("1g.6gb+me", 1 / 4),
        ("nvidia_com_mig_1g_10gb_me", 1 / 7),
        ("4g.40gb", 4 / 7),
        ("5g.60gb", 1),
        ("7g.80gb", 1),
    ],
)
def test_a_profile_is_read_as_slurm_kubernetes_and_prometheus_write_it(text, share):
    assert mig_share(text) == share
    assert mig_milli(text) == int(1000 * share)


@pytest.mark.parametrize(
    "text", ["", "a100", "h100-80gb", "gpu", "0g.5gb", "13g.40gb", "1g.10gbps"]
)
def test_another_text_has_no_profile_and_is_a_whole_gpu(text):
    assert mig_share(text) is None
    assert mig_milli(text) == 1000


def test_slices_have_the_thousandths_that_schedulers_place():
    assert MIG_PARTS == {1: 142, 2: 285, 3: 500, 4: 571, 7: 1000}
