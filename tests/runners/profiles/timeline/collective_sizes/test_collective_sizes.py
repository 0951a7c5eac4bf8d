"""The size and the bandwidth of collectives, from what torch.profiler records of them."""

import pytest

ALL_REDUCE = {
    "Collective name": "allreduce",
    "In msg nelems": 1_000_000,
    "dtype": "Float",
    "Group size": 8,
}


def collective(trace, at, lasts, *, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", **text):
    return trace.add(name, at, lasts, cat="kernel", thread=(0, 20), stream=20, **text)


@pytest.fixture
def step(trace):
    return trace.step(1, 0, 10_000)


def test_an_all_reduce_says_its_message_and_its_bandwidth(step):
    profile = collective(step, 0, 1000, **ALL_REDUCE).read()

    assert profile.reading("comm_message_bytes") == 4_000_000
    # 4 MB in a millisecond, each link carrying 2 x 7/8 of it.
    bandwidth = profile.reading("bus_bw", subject="all_reduce of 8 ranks")
    assert bandwidth == pytest.approx(4e6 / 1e-3 * 1.75)


@pytest.mark.parametrize(
    ("name", "size", "factor"),
    [
        ("_allgather_base", 8e6, 7 / 8),  # each rank gives an eighth of the message
        ("reduce_scatter_tensor_coalesced", 1e6, 7 / 8),
        ("all_to_allv", 1e6, 7 / 8),
        ("broadcast", 1e6, 1.0),
        ("send", 1e6, 1.0),
    ],
)
def test_each_collective_counts_its_message_as_nccl_tests_does(step, name, size, factor):
    text = {**ALL_REDUCE, "Collective name": name, "dtype": "Float8_e4m3fn"}

    profile = collective(step, 0, 1000, **text).read()

    assert profile.reading("comm_message_bytes") == size
    (bandwidth,) = [r.value for r in profile.readings if r.name == "bus_bw"]
    assert bandwidth == pytest.approx(size / 1e-3 * factor)


# Bytes of an element of each c10::ScalarType: c10/core/ScalarType.h of PyTorch.
@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("Byte", 1),
        ("Char", 1),
        ("Bool", 1),
        ("Float8_e4m3fn", 1),
        ("Float8_e5m2", 1),
        ("Float8_e4m3fnuz", 1),
        ("Float8_e5m2fnuz", 1),
        ("Short", 2),
        ("Half", 2),
        ("BFloat16", 2),
        ("Int", 4),
        ("Float", 4),
        ("Long", 8),
        ("Double", 8),
        ("ComplexFloat", 8),
        ("ComplexDouble", 16),
    ],
)
def test_an_element_has_the_bytes_of_its_type(step, dtype, size):
    profile = collective(step, 0, 1000, **{**ALL_REDUCE, "dtype": dtype}).read()

    assert profile.reading("comm_message_bytes") == 1_000_000 * size


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_smallest_groups_have_a_bandwidth(step, ranks):
    profile = collective(step, 0, 1000, **{**ALL_REDUCE, "Group size": ranks}).read()

    bandwidth = profile.reading("bus_bw", subject=f"all_reduce of {ranks} ranks")
    assert bandwidth == pytest.approx(4e6 / 1e-3 * 2 * (ranks - 1) / ranks)


def test_the_message_is_that_of_the_median_of_the_time(step):
    for at, lasts, elements in ((0, 10, 1), (20, 10, 2), (40, 10, 3), (100, 500, 1000)):
        collective(step, at, lasts, **{**ALL_REDUCE, "In msg nelems": elements})

    assert step.read().reading("comm_message_bytes") == 4000


@pytest.mark.parametrize(
    "odd", [{"dtype": "Qint8"}, {"Group size": 1}, {"In msg nelems": -1}, {"Collective name": "?"}]
)
def test_a_message_that_is_not_known_is_not_guessed(step, odd):
    profile = collective(step, 0, 1000, **{**ALL_REDUCE, **odd}).read()

    assert profile.reading("comm_time") == pytest.approx(1e-3)
    assert not {"comm_message_bytes", "bus_bw"} & {r.name for r in profile.readings}


def test_where_most_collectives_say_nothing_the_few_do_not_speak_for_them(step):
    collective(step, 0, 100, **ALL_REDUCE)
    collective(step, 200, 800)

    assert step.read().reading("comm_message_bytes") is None


@pytest.mark.parametrize(("small_us", "size"), [(400, 8e6), (600, 4e6)])
def test_the_median_is_the_message_that_half_of_the_time_is_spent_up_to(step, small_us, size):
    collective(step, 0, small_us, **ALL_REDUCE)
    large = ALL_REDUCE | {"In msg nelems": 2_000_000}

    profile = collective(step, 2000, 1000 - small_us, **large).read()

    assert profile.reading("comm_message_bytes") == size
