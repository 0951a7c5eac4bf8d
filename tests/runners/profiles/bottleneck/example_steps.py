"""Made-up steps of a few operations on one device, and the advice about them."""

from perfledger.profile import Bucket, Kernel, Operation, OperationFamily, Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations

A100 = ProfiledDevice(name="A100", compute_capability="8.0", multiprocessors=108)


def op(name, seconds, bucket=Bucket.COMPUTE, *, path="", shapes="", count=1.0):
    return Operation(
        name=name, bucket=bucket, seconds=seconds, count=count, path=path, shapes=shapes
    )


def kernel(name, family=OperationFamily.OTHER, seconds=1.0, **more):
    return Kernel(name=name, family=family, seconds=seconds, **{"count": 1.0, **more})


def step(*operations, tool="torch.profiler", device=A100, kernels=(), readings=()):
    """Return a step of one second: what the operations leave is one matrix product."""
    rest = 1 - sum(operation.seconds for operation in operations)
    return Profile(
        workload="m:f",
        side=Side.HEAD,
        tool=tool,
        steps=4,
        step_seconds=1.0,
        operations=(*operations, op("sgemm", rest)),
        device=device,
        kernels=kernels,
        readings=readings,
    )


def advice(profile, **more):
    return recommendations(profile, classify(profile), **more)


def texts(profile, **more):
    return [recommendation.text for recommendation in advice(profile, **more)]
