from hypothesis import given, strategies as st

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.dcgm import read_dcgm, read_prometheus_samples


def read(*lines):
    text = "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n" + "\n".join(lines)
    return read_dcgm(text.encode(), workload="m:f", side=Side.HEAD)


@given(
    st.dictionaries(st.from_regex(r"[a-zA-Z_]\w{0,8}", fullmatch=True), st.text(max_size=8)),
    st.floats(),
)
def test_a_sample_is_read_as_it_was_written(labels, value):
    def quoted(text):
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    body = ",".join(f'{name}="{quoted(text)}"' for name, text in labels.items())

    (sample,) = read_prometheus_samples([f"name{{{body}}} {value!r} 1700000000000"]).samples

    assert (sample.name, sample.labels, sample.value) == ("name", labels, repr(value))


def test_a_line_of_nothing_but_space_is_told_at_once():
    read = read_prometheus_samples(["name" + " " * 500_000 + "1 2 3"])

    assert (read.samples, read.dropped) == ([], 1)
