import pytest

from perfledger.profile import Bucket
from perfledger_profiles.breakdown import Label
from perfledger_profiles.hlo import bucket_of, instruction_label


@pytest.mark.parametrize(
    ("opcode", "bucket"),
    [
        ("dot.3", Bucket.COMPUTE),
        ("copy_bitcast_fusion", Bucket.COMPUTE),
        ("all-reduce-start.1", Bucket.COMMUNICATION),
        ("reduce-scatter", Bucket.COMMUNICATION),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", Bucket.COMMUNICATION),
        ("reduce.2", Bucket.COMPUTE),
        ("copy.4", Bucket.COPY),
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

    assert instruction_label(text, module="jit_f") == Label(
        "copy-done.4", Bucket.COPY, "f32[5,1024]", "jit_f"
    )


def test_an_instruction_that_returns_a_tuple_gives_all_its_shapes():
    text = "%all-reduce = (f32[8]{0}, bf16[2,2]{1,0}) all-reduce(f32[8]{0} %a, bf16[2,2]{1,0} %b)"

    label = instruction_label(text, module="")

    assert (label.name, label.shapes) == ("all-reduce", "(f32[8],bf16[2,2])")
    assert label.bucket is Bucket.COMMUNICATION


def test_a_bare_name_is_a_label():
    assert instruction_label("%fusion.2", module="m") == Label("fusion.2", Bucket.COMPUTE, path="m")
