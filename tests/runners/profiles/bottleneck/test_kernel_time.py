from dataclasses import replace

from perfledger.profile import Kernel, OperationFamily
from perfledger_profiles.bottleneck.kernel_time import kernel_operations


def test_a_kernels_operations_are_those_of_its_name(make):
    mine = make.operation("sgemm", 1.0, path="aten::mm")
    theirs = make.operation("sgemm", 2.0, path="aten::bmm")
    other = make.operation("add", 3.0)
    kernel = Kernel(name="sgemm", family=OperationFamily.GEMM, seconds=9.0, count=1.0)

    operations = kernel_operations(make.profile(other, theirs, mine), [kernel])

    assert operations == (theirs, mine)


def test_a_kernel_that_bears_its_programs_name_has_that_ones_operation(make):
    one = make.operation("fusion.1", 1.0, path="jit_f")
    other = make.operation("fusion.1", 1.0, path="jit_g")
    kernel = Kernel(name="jit_g:fusion.1", family=OperationFamily.FUSION, seconds=1.0, count=1.0)

    assert kernel_operations(make.profile(one, other), [kernel]) == (other,)
    assert kernel_operations(make.profile(one), [replace(kernel, name="fusion.2")]) == ()
