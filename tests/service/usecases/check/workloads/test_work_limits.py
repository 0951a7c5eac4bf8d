from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.step_work import PROGRAM_MEMORY, Count, CountedWork, StepWork
from perfledger_service.usecases.check.workloads.plan import NOT_TIMED, WorkloadPlan
from perfledger_service.usecases.check.workloads.work_limits import stop_over_limits

A, B = (WorkloadSpec(id=f"m:{name}", module="m", function=name) for name in "ab")
PLAN = WorkloadPlan(to_measure=(A, B), new=(), failures=(), skipped={"m:c": "no such feature"})
MACHINE = Machine(device=Device.CUDA, model="H100", memory_bytes=80)
RULE = ("compiled_memory > device",)


def counted(size):
    memory = Count(name=PROGRAM_MEMORY, unit="B", value=size, source="XLA")
    return (CountedWork(workload=A.id, side=Side.HEAD, work=StepWork(counts=(memory,))),)


def test_one_workload_above_a_limit_ends_the_check_for_all_of_them():
    plan = stop_over_limits(PLAN, RULE, counted(81), MACHINE)

    assert (plan.to_measure, plan.untimed) == ((), (A, B))
    assert plan.workloads == (A, B)
    assert plan.skipped == {"m:a": NOT_TIMED, "m:b": NOT_TIMED, "m:c": "no such feature"}


def test_a_limit_that_is_kept_or_unknown_ends_nothing():
    assert stop_over_limits(PLAN, RULE, counted(80), MACHINE) == PLAN
    assert stop_over_limits(PLAN, RULE, (), MACHINE) == PLAN
    assert stop_over_limits(PLAN, (), counted(81), MACHINE) == PLAN
