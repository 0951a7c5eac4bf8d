"""Divides the changed families of kernels into work that was added, saved, or only moved."""

from collections.abc import Collection
from dataclasses import replace

from perfledger_baselines.judging.judged_kernels import (
    JudgedFamily,
    JudgedWorkload,
    KernelShift,
    KernelTestRule,
)


def divide_changes(workload: JudgedWorkload, shared: KernelTestRule) -> KernelShift:
    """Divide the changed families into alarms, gains, and cost that moved or may have moved."""
    return _without_what_may_have_moved(_tested_changes(workload, shared), workload, shared)


def _tested_changes(workload: JudgedWorkload, shared: KernelTestRule) -> KernelShift:
    """Divide the changed families by the check's tests of each alone."""
    changed = [one for one in workload.tested if shared.is_change(one)]
    slower = tuple(one for one in changed if one.is_slower and not one.is_restructured)
    traded = tuple(one for one in changed if one not in slower)
    parts = (
        *(one for one in workload.tested if one.is_restructured or one in traded),
        *workload.restructured,
    )
    if not parts:
        return KernelShift(alarms=slower)
    net = shared.test_together(parts)
    if not shared.is_change(net):
        givers = (*traded, *workload.restructured)
        shift = _shift_without_net_change(shared, traded, givers, net)
        return replace(shift, alarms=(*slower, *shift.alarms))
    if net.is_slower:
        added = tuple(one for one in traded if one.is_slower) or (_with_names(net, parts),)
        gains = tuple(one for one in traded if not one.is_slower)
        return KernelShift(alarms=(*slower, *added), gains=gains, pool=net)
    return _shift_of_gains(shared, slower, traded, _with_names(net, parts))


def _with_names(net: JudgedFamily, parts: Collection[JudgedFamily]) -> JudgedFamily:
    """Return several families combined, listing as kernels those that changed in its direction."""
    same_way = (one.seconds for one in parts if (one.delta_seconds > 0) is net.is_slower)
    return replace(net, kernels=tuple(same_way))


def _without_what_may_have_moved(
    shift: KernelShift, workload: JudgedWorkload, shared: KernelTestRule
) -> KernelShift:
    """Return the shift without alarms whose work may have come from others that became faster.

    Those others are faster by their intervals, which is too little for a finding, and all together
    are not slower by theirs.
    """
    changed = (*shift.alarms, *shift.gains, *shift.shifts, *shift.outweighed)
    givers = tuple(
        one
        for one in workload.tested
        if one not in changed and not one.is_restructured and shared.may_be_faster(one)
    )
    if not (shift.alarms and givers):
        return shift
    total = shared.test_together((*shift.alarms, *shift.gains, *givers))
    if total.bounds_seconds[0] > 0:
        return shift
    shifts = (*shift.alarms, *shift.shifts)
    return replace(shift, alarms=(), shifts=shifts, pool=total, is_proven=False)


def _shift_of_gains(
    shared: KernelTestRule,
    slower: tuple[JudgedFamily, ...],
    traded: tuple[JudgedFamily, ...],
    net: JudgedFamily,
) -> KernelShift:
    """Divide families when other kernels gained: slower ones may have taken their work.

    If the gains are larger than the losses, these may equally be losses of their own.
    """
    gains = tuple(one for one in traded if not one.is_slower) or (net,)
    lost = tuple(one for one in traded if one.is_slower)
    if not slower:
        return KernelShift(gains=gains, outweighed=lost, pool=net)
    total = shared.test_together((net, *slower))
    if not shared.is_change(total):
        return _shift_without_net_change(shared, (*slower, *traded), traded, total)
    if total.is_slower:
        return KernelShift(alarms=slower, gains=gains, outweighed=lost, pool=total)
    return KernelShift(gains=gains, outweighed=(*slower, *lost), pool=total)


def _shift_without_net_change(
    shared: KernelTestRule,
    changed: tuple[JudgedFamily, ...],
    givers: tuple[JudgedFamily, ...],
    pool: JudgedFamily,
) -> KernelShift:
    """Divide changed families whose total did not change.

    A slower one has work of the others if all together add less than it does, by their bounds. If
    that is uncertain, it is judged by itself if none of `givers` became faster or was removed, or
    if it lost more than these gained; otherwise its cause is unknown.
    """
    _, most_seconds = pool.bounds_seconds
    unsure = tuple(
        one for one in changed if one.is_slower and one.bounds_seconds[0] <= most_seconds
    )
    faster = tuple(one for one in givers if not one.is_slower)
    total = shared.test_together((*unsure, *faster)) if unsure and faster else None
    is_alarm = total is None or (total.is_slower and shared.is_change(total))
    rest = tuple(one for one in changed if one not in unsure)
    if not unsure or not is_alarm:
        return KernelShift(shifts=changed, pool=pool, is_proven=not unsure)
    return KernelShift(
        alarms=unsure,
        gains=tuple(one for one in rest if not one.is_slower),
        shifts=tuple(one for one in rest if one.is_slower),
        pool=pool,
    )
