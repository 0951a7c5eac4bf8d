import pytest

from perfledger_cost_models.job_logs.table import JobLogError
from perfledger_cost_models.scheduling import cluster
from perfledger_cost_models.scheduling.cluster import UNLIMITED, equal_nodes, read_cluster


def test_equal_nodes_are_one_pool_without_other_limits():
    nodes = equal_nodes(3, devices=8)

    assert nodes.total_devices == 24
    assert (nodes.cpu_milli == UNLIMITED).all()
    assert nodes.pool.names == ("",)


def test_nodes_without_devices_or_with_less_are_an_error():
    with pytest.raises(JobLogError, match="-1 devices"):
        equal_nodes(3, devices=-1)


def test_openbs_list_of_nodes_is_read():
    text = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn2,128000,786432,8,G3\n"

    nodes = read_cluster(text, devices=8)

    assert nodes.devices.tolist() == [2, 8]
    assert nodes.cpu_milli.tolist() == [64_000, 128_000]
    assert nodes.model.names == ("G3", "P100")


def test_a_list_of_virtual_clusters_counts_nodes():
    nodes = read_cluster("vc,node num\na,2\nb,1\n", devices=8)

    assert nodes.devices.tolist() == [8, 8, 8]
    assert nodes.pool.codes.tolist() == [0, 0, 1]


def test_lucids_list_has_a_column_without_a_name():
    nodes = read_cluster(",num\nvcEwI,2\nvcWoR,1\n", devices=8)

    assert nodes.pool.names == ("vcEwI", "vcWoR")
    assert len(nodes.devices) == 3


def test_a_column_that_counts_the_rows_is_no_pool():
    nodes = read_cluster(",gpu\n0,8\n1,4\n", devices=8)

    assert nodes.devices.tolist() == [8, 4]
    assert nodes.pool.names == ("",)


def test_the_spot_traces_nodes_count_processors_in_cores():
    nodes = read_cluster("gpu_model,gpu_capacity_num,cpu_num\nA10,4,192\n", devices=8)

    assert (nodes.devices.tolist(), nodes.cpu_milli.tolist()) == ([4], [192_000])


def test_processors_may_be_parts_of_cores():
    nodes = read_cluster("gpu,cpu_num\n8,2.01\n8,63.77\n", devices=8)

    assert nodes.cpu_milli.tolist() == [2010, 63_770]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpu\n",
        "gpu\n0\n",
        "gpu\n-8\n",
        "gpu\nmany\n",
        "gpu\nnan\n",
        "gpu\n2.7\n",
        "hosts,cards\n2,8\n",
        "gpu,count\n8,99999999\n",
        "gpu,cpu_num\n8,1e10\n",
        "gpu,count\n1000000,1000000\n",
        'gpu\n"8\n',
    ],
)
def test_what_is_no_list_of_nodes_is_an_error(text):
    with pytest.raises(JobLogError):
        read_cluster(text, devices=8)


def test_a_node_may_have_no_device_and_a_list_one_node():
    assert equal_nodes(1, devices=1).total_devices == 1
    assert read_cluster("gpu\n0\n1\n", devices=8).devices.tolist() == [0, 1]


def test_what_a_list_does_not_say_of_processors_and_memory_limits_nothing():
    nodes = read_cluster("gpu,cpu_milli,memory_mib\n8,,\n8,1,1\n", devices=8)

    assert nodes.cpu_milli.tolist() == [UNLIMITED, 1]
    assert nodes.memory_mib.tolist() == [UNLIMITED, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu\n8\n-1\n", "line 3: '-1' is not a count"),
        ("gpu\n0.5\n", "line 2: '0.5' is not a count"),
        ("gpu\nmany\n", "line 2: 'many' is not a count"),
        ("gpu,count\n8,0\n", "0 nodes with up to 8 devices"),
    ],
)
def test_a_number_that_is_no_count_is_named_with_its_line(text, words):
    with pytest.raises(JobLogError, match=words):
        read_cluster(text, devices=8)


@pytest.mark.parametrize(
    ("text", "is_sane"),
    [
        ("vc,node num\na,0\nb,3\n", True),
        ("vc,node num\na,0\nb,4\n", False),
        ("gpu\n8\n", True),
        ("gpu\n9\n", False),
        ("gpu\n8\n8\n", True),
        ("gpu\n8\n8\n0\n", False),
        ("gpu,cpu_num\n8,0.5\n", True),
        ("gpu,cpu_num\n8,0.501\n", False),
    ],
)
def test_a_cluster_of_the_greatest_size_is_read(monkeypatch, text, is_sane):
    for name, most in (("NODES", 3), ("DEVICES", 8), ("CELLS", 23), ("AMOUNT", 500)):
        monkeypatch.setattr(cluster, f"MAX_{name}", most)

    if is_sane:
        assert read_cluster(text, devices=4).total_devices > 0
    else:
        with pytest.raises(JobLogError):
            read_cluster(text, devices=4)


def test_a_list_without_nodes_says_that_it_has_none():
    with pytest.raises(JobLogError, match=r"^0 nodes with up to 0 devices"):
        read_cluster("gpu,count\n", devices=4)
    with pytest.raises(JobLogError, match=r"^0 nodes with up to 4 devices"):
        read_cluster("gpu,count\n4,0\n", devices=4)
