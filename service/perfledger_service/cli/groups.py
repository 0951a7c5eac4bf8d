"""Finds commands by name, and imports a command's module only when the command is used."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import cast

import typer
from typer.core import TyperGroup

from perfledger_service.cli.command import (
    HELP_NAMES,
    GroupedCommand,
    HelpCommand,
    HelpFormatter,
    typer_command,
    write_beginning,
    write_examples,
)

PACKAGE = "perfledger_service.cli"
GROUP_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Group:
    """A group's description and its members: commands as "module:function", and groups."""

    sentence: str
    members: Mapping[str, "str | Group"]

    @property
    def commands(self) -> dict[str, str]:
        """Return the members that are commands."""
        return {name: each for name, each in self.members.items() if isinstance(each, str)}

    @property
    def groups(self) -> "dict[str, Group]":
        """Return the members that are groups."""
        return {name: each for name, each in self.members.items() if isinstance(each, Group)}


ROOT = Group(
    "Find performance regressions of GPU and TPU code, and price every change.",
    {
        "init": "check.init:init",
        "check": "check.check:check",
        "report": "check.report:report",
        "compare": "check.compare:compare",
        "announce": "check.announce:announce",
        "upload": "check.upload:upload",
        "runner": "check.runner:runner",
        "review": "review.review:review",
        "config": Group("Show the settings.", {"show": "check.config_show:config_show"}),
        "bench": Group(
            "List workloads, time and load-test them, and compute which changes are detectable.",
            {
                "list": "bench.list:list_workloads",
                "time": "bench.time:time_statement",
                "load": "bench.load:load",
                "builtin": "bench.builtin:builtin",
                "power": "bench.power:power",
                "doctor": "bench.doctor:doctor",
            },
        ),
        "history": Group(
            "Search the history of a branch for changes, or import one.",
            {
                "bisect": "history.bisect:bisect",
                "detect": "history.detect:detect",
                "import": "history.imports:import_history",
                "suspects": "history.suspects:suspects",
                "spreads": "history.spreads:spreads",
            },
        ),
        "trace": Group(
            "Explain where the time of a step goes, from profiler files.",
            {
                "summary": "trace.summary:summary",
                "diff": "trace.diff:diff",
                "whatif": "trace.whatif:whatif",
                "mfu": "trace.mfu:mfu",
            },
        ),
        "cost": Group(
            "Price hours, work and changes.",
            {
                "compare": "cost.compare:compare",
                "tco": "cost.tco:tco",
                "change": "cost.change:change",
                "project": "cost.project:project",
                "energy": "cost.energy:energy",
                "coverage": "cost.coverage:coverage",
                "payments": "cost.payments:payments",
                "api": "cost.api:api",
            },
        ),
        "fleet": Group(
            "Account for the devices of a fleet: usage, cost and forecasts.",
            {
                "hours": "fleet.hours:hours",
                "utilization": "fleet.utilization:utilization",
                "allocate": "fleet.allocate:allocate",
                "forecast": "fleet.forecast:forecast",
                "start-window": "fleet.start_window:start_window",
                "faults": "fleet.faults:faults",
            },
        ),
        "plan": Group(
            "Plan capacity: how many devices are enough.",
            {
                "rightsize": "plan.rightsize:rightsize",
                "queue": "plan.queue:queue",
                "simulate": "plan.simulate:simulate",
                "elastic": "plan.elastic:elastic",
            },
        ),
        "prices": Group(
            "Read, check and update price sheets.",
            {
                "list": "prices.list:list_prices",
                "check": "prices.check:check",
                "update": "prices.update:update",
                "diff": "prices.diff:diff",
                "bill": "prices.bill:bill",
            },
        ),
        "server": Group(
            "Operate the service.",
            {
                "app": "server.app:app",
                "run": "server.run:run",
                "retry": "server.retry:retry",
                "db": Group("Manage the database.", {"upgrade": "server.db:upgrade"}),
                "backup": "server.backup:backup",
                "restore": "server.restore:restore",
                "export": "server.export:export",
                "prune": "server.prune:prune",
                "project": Group(
                    "Manage the repositories that may upload.",
                    {
                        "add": "server.project:add",
                        "actions": "server.project:actions",
                        "rename": "server.project:rename",
                        "accepted": "server.project:list_accepted",
                        "list": "server.project:list_projects",
                    },
                ),
                "job": Group(
                    "Manage the queue for runners.",
                    {
                        "list": "server.job:list_jobs",
                        "schedule": "server.job:schedule",
                        "budget": "server.job:budget",
                        "cancel": "server.job:cancel",
                    },
                ),
                "device": Group(
                    "Manage the quarantine of devices that drift.",
                    {
                        "list": "server.device:list_devices",
                        "quarantine": "server.device:quarantine",
                        "release": "server.device:release",
                    },
                ),
                "reorder": "server.reorder:reorder",
                "series": Group(
                    "Manage series of imported histories.", {"remove": "server.series:remove"}
                ),
                "event": Group(
                    "Track the changes of a project and set their states.",
                    {
                        "list": "server.event:list_events",
                        "show": "server.event:show",
                        "set": "server.event:set_event",
                        "triage": "server.event:triage",
                    },
                ),
                "notice": Group(
                    "Manage notices of regressions: by webhook, mail or issue.",
                    {
                        "add": "server.notice:add",
                        "remove": "server.notice:remove",
                        "list": "server.notice:list_notices",
                    },
                ),
                "token": Group("Manage tokens.", {"revoke": "server.token:revoke"}),
                "person": Group(
                    "Manage people who signed in, and their roles.",
                    {
                        "list": "server.person:list_people",
                        "grant": "server.person:grant",
                        "revoke": "server.person:revoke",
                        "sign-out": "server.person:sign_out",
                    },
                ),
                "audit": "server.audit:audit",
                "import": Group(
                    "Import files about the fleet into the database.",
                    {
                        "usage": "server.imports:import_usage",
                        "activity": "server.imports:import_activity",
                        "jobs": "server.imports:import_jobs",
                        "load": "server.imports:import_load",
                        "list": "server.imports:list_imports",
                        "remove": "server.imports:remove",
                    },
                ),
            },
        ),
    },
)


class LazyGroup(TyperGroup):
    """A group that imports the module of a command on demand."""

    group: Group = ROOT

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 - typer's signature
        """Return the names in their order."""
        return list(self.group.members)

    def get_command(
        self,
        ctx: object,  # noqa: ARG002 - typer's signature
        cmd_name: str,
    ) -> "GroupedCommand | LazyGroup | None":
        """Return a command or a group, None for an unknown name."""
        member = self.group.members.get(cmd_name)
        if member is None:  # typer searches the imported commands for similar names
            self.commands.update(
                {name: typer_member(name, each) for name, each in self.group.members.items()}
            )
            return None
        return typer_member(cmd_name, member)

    def parse_args(self, ctx: object, args: list[str]) -> list[str]:
        """Read the options of a group, all of which are flags.

        An unset flag needs no validation, for which typer would import pydantic.
        """
        context = cast("typer.Context", ctx)
        for param in self.get_params(context):
            if param.default is None:
                param.default = False
        return super().parse_args(context, args)

    def format_help(self, ctx: object, formatter: HelpFormatter) -> None:
        """Write the help text."""
        context = cast("typer.Context", ctx)
        write_beginning(self.help or "", self.get_usage(context), formatter)
        for heading, members in (("Commands", self.group.commands), ("Groups", self.group.groups)):
            if members:
                with formatter.section(heading):
                    formatter.write_dl(
                        [(name, sentence_of(each)) for name, each in members.items()]
                    )
        with formatter.section("Options"):
            params = self.get_params(context)
            formatter.write_dl([param.get_help_record(context) or ("", "") for param in params])
        write_examples(group_examples(self.group), formatter)


def commands_of(group: Group) -> Iterator[HelpCommand]:
    """Return the commands of a group and of its subgroups."""
    for member in group.members.values():
        if isinstance(member, Group):
            yield from commands_of(member)
        else:
            yield command_at(member)


def group_examples(group: Group) -> tuple[str, ...]:
    """Return the examples of a group: one for each of its first commands."""
    commands = tuple(islice(commands_of(group), GROUP_EXAMPLES))
    if len(commands) == 1:
        return commands[0].examples
    return tuple(command.examples[0] for command in commands)


def typer_member(name: str, member: "str | Group") -> "GroupedCommand | LazyGroup":
    """Return the typer command or group of a member."""
    if isinstance(member, Group):
        group = LazyGroup(
            name=name,
            help=member.sentence,
            no_args_is_help=True,
            rich_markup_mode=None,
            context_settings=HELP_NAMES,
        )
        group.group = member
        return group
    return typer_command(name, command_at(member))


def command_at(reference: str) -> HelpCommand:
    """Import and return the command of a "module:function"."""
    module, _, attribute = reference.partition(":")
    command: HelpCommand = getattr(import_module(f"{PACKAGE}.{module}"), attribute)
    return command


def sentence_of(member: "str | Group") -> str:
    """Return the description of a command or group."""
    return member.sentence if isinstance(member, Group) else command_at(member).sentence
