"""One pool's jobs into their starts and ends under a policy: the loop over what happens.

The next thing that happens is the first end of a running job or the first submission; at one
moment ends come before submissions, and then those whose turn it is start.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np

from perfledger_cost_models.cluster import UNLIMITED, Cluster
from perfledger_cost_models.entitlement import Entitlement
from perfledger_cost_models.fragmentation import Fragmentation
from perfledger_cost_models.jobs import IntArray, Jobs
from perfledger_cost_models.meter import Meter
from perfledger_cost_models.placing import Placer
from perfledger_cost_models.reservation import Calendar, Reservation
from perfledger_cost_models.room import Held, Room, classes_of
from perfledger_cost_models.scheduling import Order, Passing, Policy, Preemption, Share
from perfledger_cost_models.waiting import Line, Rank, Waiting
from perfledger_cost_models.yielding import Claim, Clearing, Run, Yielding

_NO_LIMIT = 2**62

_Turn = tuple[Rank, Line]


class Pool:
    """A pool of nodes in the middle of a simulation."""

    def __init__(
        self,
        jobs: Jobs,
        cluster: Cluster,
        nodes: IntArray,
        policy: Policy,
        reservations: Sequence[Reservation],
        *,
        until_ms: int,
        seed: int,
    ) -> None:
        self.start_ms, self.end_ms = (np.full(len(jobs), -1, np.int64) for _ in range(2))
        self.ran_ms = np.zeros(len(jobs), np.int64)
        self.rounded = self.preemptions = 0
        self._policy = policy
        self._room = Room(cluster, nodes, jobs)
        self._shapes, places = classes_of(jobs, policy.sharing, has_calendar=bool(reservations))
        self._mix = Fragmentation(jobs)
        self._placer = Placer(
            self._room,
            policy.placement,
            mix=self._mix,
            locality=policy.locality,
            seed=seed,
        )
        self.meter = Meter(capacity_milli=self._room.capacity_milli, until_ms=until_ms)
        self._shape: list[int] = places.tolist()
        self._submit: list[int] = jobs.submit_ms.tolist()
        self._left: list[int] = jobs.run_ms.tolist()  # run time that is left of each job
        self._whole_run: list[int] = jobs.run_ms.tolist()
        self._limit: list[int] = jobs.limit_ms.tolist()
        self._priority: list[int] = jobs.priority.tolist()
        self._team: list[int] = jobs.team.codes.tolist()
        self._milli: list[int] = [shape.devices * shape.share_milli for shape in self._shapes]
        self._asked_milli: list[int] = jobs.milli.tolist()
        self._calendar = Calendar(reservations, jobs, len(nodes))
        self._waiting = Waiting()
        self._turn_ms = policy.turn_s * 1000 if policy.order is Order.TURNS else 0
        self._running = Yielding(policy)
        self._events: list[tuple[int, int]] = [(end, -1) for end in self._calendar.ends]
        self._expected: list[tuple[int, int]] = []  # ends as time limits say, for EASY
        # Who displaced nobody last, how often anything had moved then, and how many came after it.
        self._in_vain = (-1, 0, 0)
        self._blocked: set[int] = set()  # shapes without room since something was given back
        self._entitlement = Entitlement(
            policy.share,
            milli=self._room.capacity_milli,
            cpu=_known_sum(self._room.cpu),
            memory=_known_sum(self._room.memory),
        )

    def run(self) -> None:
        """Run all jobs to their ends."""
        can_fit = [self._placer.place(shape) is not None for shape in self._shapes]
        arrivals = [job for job, shape in enumerate(self._shape) if can_fit[shape]]
        heapq.heapify(self._events)
        place = 0
        while place < len(arrivals) or self._events:
            now = self._events[0][0] if self._events else _NO_LIMIT
            if place < len(arrivals):
                now = min(now, self._submit[arrivals[place]])
            self._count_until(now)
            # The ends of who moved stay among the events: moving anew at them would have no end.
            is_due = self._policy.preemption is not Preemption.MIGRATION
            while self._events and self._events[0][0] == now:
                is_due |= self._end(heapq.heappop(self._events)[1], now)
            while place < len(arrivals) and self._submit[arrivals[place]] == now:
                self._wait(arrivals[place], now)
                place += 1
                is_due = True
            if self._waiting and is_due:
                self._start_all(now)
        self._count_until(self.meter.until_ms)  # other pools' jobs may still come

    def _count_until(self, now: int) -> None:
        self.meter.go_on(
            now,
            free_milli=self._room.free_milli,
            waiting_milli=self._waiting.milli,
            unusable=self._unusable,
        )

    def _unusable(self) -> float:
        return float(self._mix.amount(self._room, np.arange(len(self._room.size))).sum())

    def _wait(self, job: int, since_ms: int) -> None:
        key = 0
        match self._policy.order:
            case Order.SUBMISSION:
                pass
            case Order.SHORTEST:
                key = self._whole_run[job]
            case Order.REMAINING:
                key = self._left[job]
            case Order.SERVICE:
                key = self._left[job] * self._milli[self._shape[job]]
            case Order.PRIORITY:
                key = -self._priority[job]
            case Order.TURNS:
                key = since_ms
        line = self._line(job)
        limit = self._limit[job]
        self._waiting.add(line, key=key, job=job, limit_ms=limit, milli=self._milli[line[1]])

    def _line(self, job: int) -> Line:
        return self._team[job] if self._policy.share != "none" else 0, self._shape[job]

    def _start_all(self, now: int) -> None:
        """Start who can, in their order, until the next does not fit and nobody may pass."""
        if self._calendar.ends or self._policy.preemption is not Preemption.NEVER:
            self._blocked.clear()
        if self._policy.preemption is Preemption.MIGRATION:
            self._place_anew(now)
            return
        turns = self._turns(now)
        while turns:
            (_, _, job), line = heapq.heappop(turns)
            is_open = line[1] not in self._blocked and not self._is_in_vain(job, now)
            if is_open and self._start(job, now):
                turns = self._next_turns(turns, line, now)
            elif is_open and self._displace(job, line, now):
                turns = self._turns(now)
            else:
                self._blocked.add(line[1])
                if self._policy.passing is Passing.EASY:
                    self._pass(job, now)
                if self._policy.passing is not Passing.ALWAYS:
                    return

    def _next_turns(self, turns: list[_Turn], line: Line, now: int) -> list[_Turn]:
        """Return whose turn it is once the first of a line has started."""
        self._waiting.leave(line, place=0, milli=self._milli[line[1]])
        if self._policy.share is not Share.NONE:
            return self._turns(now)  # its team has more now, and stands farther back
        if self._waiting.size(line):
            heapq.heappush(turns, (self._waiting.rank(line, 0, {}), line))
        return turns

    def _turns(self, now: int) -> list[_Turn]:
        """Return a heap of whose turn it is in each line."""
        shares = self._entitlement.shares(now)
        is_passing = self._policy.passing is Passing.ALWAYS
        turns = [
            (self._waiting.rank(line, 0, shares), line)
            for line in self._waiting.lines()
            if not (is_passing and line[1] in self._blocked)
        ]
        heapq.heapify(turns)
        return turns

    def _start(self, job: int, now: int) -> bool:
        shape = self._shapes[self._shape[job]]
        held = self._placer.place(
            shape, self._calendar.allowed(self._team[job], self._limit[job], now)
        )
        if held is None:
            return False
        self._room.take(held)
        self._begin(job, held, now)
        return True

    def _begin(self, job: int, held: Held, now: int) -> None:
        end = now + self._left[job]
        expected = now + max(self._limit[job], 1)
        run = Run(
            job=job,
            held=held,
            milli=self._milli[self._shape[job]],
            priority=self._priority[job],
            since_ms=now,
            end_ms=end,
            expected_ms=expected,
        )
        self._running.add(run)
        heapq.heappush(self._events, (end, job))
        if self._turn_ms and end - now > self._turn_ms:
            heapq.heappush(self._events, (now + self._turn_ms, -1))
        if self._policy.passing is Passing.EASY:
            insort(self._expected, (expected, job))
        self._entitlement.take(self._team[job], held.shape, now)
        if self.start_ms[job] < 0:
            self.start_ms[job] = now

    def _end(self, job: int, now: int) -> bool:
        """End a job, a reservation or a turn; return whether it was not put off meanwhile."""
        run = self._running.get(job)
        if run is None or run.end_ms != now:
            self._blocked.clear()
            return job < 0
        self._stop(run, now)
        self._room.give_back(run.held)
        self.end_ms[job] = now
        more = self._milli[self._shape[job]] - self._asked_milli[job]
        self.rounded += more * self._whole_run[job]
        return True

    def _stop(self, run: Run, now: int) -> None:
        """Count what a job did until now; its devices are still taken."""
        job = run.job
        self._running.remove(run)
        if self._policy.passing is Passing.EASY:
            del self._expected[bisect_left(self._expected, (run.expected_ms, job))]
        self._entitlement.give_back(self._team[job], run.held.shape, now)
        self.ran_ms[job] += now - run.since_ms
        self._blocked.clear()

    def _displace(self, job: int, line: Line, now: int) -> bool:
        """Start a job where others that come after it in order must yield; whether it did."""
        if self._policy.preemption is Preemption.NEVER:
            return False
        held, gone = self._room_taken(job, now)
        if held is None:
            if not self._calendar.ends:  # where it may go changes with time alone
                later = self._running.count_after(self._claim(job), now)
                self._in_vain = (job, len(self._room.changed), later)
            return False
        # It leaves first: who yields may come to wait before it, in the same line.
        self._waiting.leave(line, place=0, milli=self._milli[line[1]])
        self._begin(job, held, now)
        for run in gone:
            self._yield(run, now)
        return True

    def _is_in_vain(self, job: int, now: int) -> bool:
        """Return whether a job tried last, and no device nor who may yield to it changed since.

        Most events change nothing for one that waits for many devices.
        """
        tried, changes, later = self._in_vain
        if tried != job or changes != len(self._room.changed):
            return False
        return self._running.count_after(self._claim(job), now) <= later

    def _claim(self, job: int) -> Claim:
        return Claim(self._left[job], self._milli[self._shape[job]], self._priority[job])

    def _room_taken(self, job: int, now: int) -> tuple[Held | None, list[Run]]:
        """Take room for a job from those that come after it; return it, and who has none now."""
        shape, claim = self._shapes[self._shape[job]], self._claim(job)
        allowed = self._calendar.allowed(self._team[job], self._limit[job], now)
        room, gone, freed = self._room, list[Run](), set[int]()
        held, free = None, room.free_milli
        clearing = Clearing(room, shape, locality=self._policy.locality)
        for run in self._running.after(claim, now):
            gone.append(run)
            free += run.milli
            if not clearing.may_fit(run.held) or free < claim.milli:
                continue
            for each in gone:
                if each.job not in freed and clearing.is_in_reach(each.held):
                    room.give_back(each.held)
                    freed.add(each.job)
            if (held := self._placer.place(shape, allowed)) is not None:
                room.take(held)
                break
        gone = [run for run in gone if run.job in freed]
        kept = {run.job for run in reversed(gone) if room.has_taken_again(run.held)}
        return held, [run for run in gone if run.job not in kept]

    def _place_anew(self, now: int) -> None:
        """Place all that run or wait in their order, as if nobody ran; who moves or yields pays."""
        runs = self._running.all()
        for run in runs:
            self._room.give_back(run.held)
        turns: list[tuple[Rank, Line, Run | None]] = [(*turn, None) for turn in self._turns(now)]
        turns += [(self._running.rank(run, now), self._line(run.job), run) for run in runs]
        heapq.heapify(turns)
        placed: list[tuple[Run, Held | None]] = []
        while turns:
            (_, _, job), line, ran = heapq.heappop(turns)
            held = self._anew(job, ran, now)
            if ran is not None:
                placed.append((ran, held))
            elif held:
                self._begin(job, held, now)
                for turn in self._next_turns([], line, now):
                    heapq.heappush(turns, (*turn, None))
        for run, held in placed:
            self._go_on(run, held, now)

    def _go_on(self, run: Run, held: Held | None, now: int) -> None:
        """Let a job that ran go on where it was placed, or wait where it was not."""
        if held is None:
            self._yield(run, now)
        elif [part.node for part in held.parts] == [part.node for part in run.held.parts]:
            run.held = held
        else:
            self._interrupt(run, now)
            self._begin(run.job, held, now)

    def _anew(self, job: int, run: Run | None, now: int) -> Held | None:
        """Take room for a job, None where there is none; those behind fit no better."""
        shape = self._shape[job]
        if shape in self._blocked:
            return None
        # A run's checkpoints may have carried it past its time limit.
        limit_ms = self._limit[job] if run is None else max(run.expected_ms, run.end_ms) - now
        allowed = self._calendar.allowed(self._team[job], limit_ms, now)
        held = self._placer.place(self._shapes[shape], allowed)
        if held:
            self._room.take(held)
        elif allowed is None:
            self._blocked.add(shape)
        return held

    def _yield(self, run: Run, now: int) -> None:
        """Let a job whose devices are given back wait again."""
        self._interrupt(run, now)
        self._wait(run.job, now + 1)  # behind whoever came at this moment

    def _interrupt(self, run: Run, now: int) -> None:
        """Stop a job that has to go on, or to begin, again."""
        job, milli = run.job, self._milli[self._shape[run.job]]
        self.preemptions += 1
        self._stop(run, now)
        if self._policy.preemption is not Preemption.RESTART:
            cost = self._policy.checkpoint_ms(run.held.shape.devices)
            self._left[job] = run.end_ms - now + cost
            self.meter.waste(now, cost * milli)
        else:
            self.meter.waste(now, (now - run.since_ms) * milli)

    def _pass(self, head: int, now: int) -> None:
        """Start jobs behind the head that its time limits say do not delay it (EASY backfill)."""
        shadow, spare = self._shadow(head, now)
        shares = self._entitlement.shares(now)
        while True:
            found = [
                (self._waiting.rank(line, place, shares), line, place)
                for line in self._waiting.lines()
                if line[1] not in self._blocked
                and (place := self._passable(line, shadow - now, spare)) is not None
            ]
            if not found:
                return
            (_, _, job), line, place = min(found)
            if not self._start(job, now):
                self._blocked.add(line[1])
                continue
            self._waiting.leave(line, place=place, milli=self._milli[line[1]])
            if now + self._limit[job] > shadow:
                spare -= self._milli[line[1]]

    def _passable(self, line: Line, within_ms: int, spare: int) -> int | None:
        if self._milli[line[1]] <= spare:
            return 0
        return self._waiting.shortest(line, within_ms=within_ms, limits=self._limit)

    def _shadow(self, head: int, now: int) -> tuple[int, int]:
        """Return when the head will have its devices, and how many thousandths are spare then.

        Devices are counted, not looked for on nodes, as EASY does.
        """
        wanted = self._milli[self._shape[head]]
        free = self._room.free_milli
        for expected, job in self._expected:
            free += self._milli[self._shape[job]]
            if free >= wanted:
                return max(expected, now), free - wanted
        return _NO_LIMIT, 0


def _known_sum(column: IntArray) -> int:
    return int(column[column < UNLIMITED].sum())
