import pytest

from perfledger.profile import Bucket
from perfledger_profiles.timeline.breakdown import CallLabel
from perfledger_profiles.xla.hlo import (
    CopyDirection,
    bucket_of,
    direction_of,
    instruction_label,
)


@pytest.mark.parametrize(
    ("opcode", "bucket"),
    [
        ("dot.3", Bucket.COMPUTE),
        ("copy_bitcast_fusion", Bucket.COMPUTE),
        ("all-reduce-start.1", Bucket.COMMUNICATION),
        ("reduce-scatter", Bucket.COMMUNICATION),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", Bucket.COMMUNICATION),
        ("CollectiveReduceV2", Bucket.COMMUNICATION),
        ("reduce.2", Bucket.COMPUTE),
        ("copy.4", Bucket.DEVICE_COPY),
        ("CopyDeviceToDevice", Bucket.DEVICE_COPY),
        ("CopyHostToDevice", Bucket.COPY),
        ("CopyPeerToPeer", Bucket.PEER_COPY),
        ("copy-done.2", Bucket.COPY),
        ("MemcpyD2H", Bucket.COPY),
        ("Memset", Bucket.MEMSET),
        ("outfeed", Bucket.COPY),
        ("infeed.1", Bucket.INPUT),
    ],
)
def test_an_operation_is_told_by_its_name(opcode, bucket):
    assert bucket_of(opcode) is bucket


def test_a_tpus_instruction_gives_its_name_and_shape():
    text = "%copy-done.4 = f32[5,1024]{1,0:T(8,128)} copy-done((f32[5,1024]{1,0}, u32[]{:S(2)}) %x)"

    assert instruction_label(text, module="jit_f") == CallLabel(
        "copy-done.4", Bucket.DEVICE_COPY, "f32[5,1024]", "jit_f"
    )


def test_an_instruction_that_returns_a_tuple_gives_all_its_shapes():
    text = "%all-reduce = (f32[8]{0}, bf16[2,2]{1,0}) all-reduce(f32[8]{0} %a, bf16[2,2]{1,0} %b)"

    label = instruction_label(text, module="")

    assert (label.name, label.shapes) == ("all-reduce", "(f32[8],bf16[2,2])")
    assert label.bucket is Bucket.COMMUNICATION


def test_a_bare_name_is_a_label():
    assert instruction_label("%fusion.2", module="m") == CallLabel(
        "fusion.2", Bucket.COMPUTE, path="m"
    )


def instruction(opcode, result, rest=""):
    return f"%x.1 = {result} {opcode}({result} %y){rest}"


HOST = "f32[8]{0:T(128)S(5)}"
CORE = "f32[8]{0:T(128)S(1)}"
HERE = "f32[8]{0:T(128)}"


@pytest.mark.parametrize(
    ("text", "bucket"),
    [
        (instruction("copy-done", HOST), Bucket.COPY),
        (instruction("async-done", HOST), Bucket.COPY),
        (instruction("dynamic-slice-start", HOST), Bucket.COPY),
        (instruction("copy-done", CORE), Bucket.COMPUTE),
        (instruction("copy-start", HERE), Bucket.DEVICE_COPY),
        (instruction("copy", CORE), Bucket.DEVICE_COPY),
        (instruction("all-gather-done", HOST), Bucket.COMMUNICATION),
        (instruction("send-done", HERE, ", channel_id=1, is_host_transfer=true"), Bucket.COPY),
        (instruction("send-done", HERE, ", channel_id=1"), Bucket.COMMUNICATION),
        (instruction("outfeed", "token[]"), Bucket.COPY),
        (instruction("infeed", HERE), Bucket.INPUT),
        (instruction("fusion", HOST), Bucket.COMPUTE),
    ],
)
def test_the_memory_that_is_copied_to_says_what_for(text, bucket):
    assert instruction_label(text, module="").bucket is bucket


def started(target, source):
    return f"%copy-start.4 = ({target}, {source}, u32[]{{:S(2)}}) copy-start({source} %param.3)"


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        (started(HERE, HOST), CopyDirection.TO_DEVICE),
        (started(HOST, HERE), CopyDirection.TO_HOST),
        (started(CORE, HERE), None),
        (started(HOST, HOST), None),
        ("%copy-start.4 = u32[] copy-start()", None),
        ("copy-start.4", None),
        (instruction("copy-done", HOST), None),
    ],
)
def test_a_copy_goes_to_the_memory_that_it_returns(text, direction):
    assert direction_of(text) is direction
