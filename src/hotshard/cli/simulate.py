"""``hotshard simulate``."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Final, cast

import msgspec

from hotshard.cli.ending import FAILED, FINE
from hotshard.cli.flags import Flags, whole
from hotshard.cli.inputs import add_input_flags, open_input
from hotshard.cli.loading import from_extra
from hotshard.cli.printing import look, put, stdout, tell
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.strategies.contract import Ground
from hotshard.core.planning.strategies.names import POLICIES
from hotshard.core.planning.terms import terms_of
from hotshard.core.wire.simulation import encode
from hotshard.errors import InputError, UsageError
from hotshard.settings.kinds import nearest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from hotshard.cli.inputs import Input
    from hotshard.core.wire.simulation import SimulationReport

HELP: Final = "place the records of a file by several policies, and compare what the partitions then carry"
_TENANT: Final = "tenant"
_POLICY: Final = "HOTSHARD_POLICY"
_PARTITIONS: Final = 32
#: With more a plan is much work, and nobody has a topic of so many.
_MOST_PARTITIONS: Final = 10_000

_TABLE: Final = "\n".join(f"  {name:<11}{meaning}" for name, meaning in POLICIES.items())
EXAMPLE: Final = f"""examples:
  hotshard simulate requests.tsv.gz --partitions 32
  kcat -C -e -t orders -f '%k\\n' ... | hotshard simulate - --format keys --policy key,placed --json

policies:
{_TABLE}

Records are placed in the order in which they stand, and no policy looks ahead: those that adapt learn after 256
records, 512, 1,024 and so on, and from 32,768 on every 16,384. A key that is split is spread record by record, as if
the order of its records did not matter.

small_waits_behind is the most records of others on a partition on which the small tenant has any: behind so many it
waits at worst, when everything is produced before anything is consumed. The small tenant is --small; without it,
of the first 1,000 tenants that come, the one with the fewest records, but at least 10."""


def add(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    add_input_flags(parser, environ)
    flags = Flags(parser, environ)
    flags.value("--partitions", "HOTSHARD_PARTITIONS", f"partition count; {_PARTITIONS} if none", metavar="N")
    flags.value("--partitioner", "HOTSHARD_PARTITIONER", "that of the producers; murmur2 if none", metavar="NAME")
    flags.setting(
        "--policy", _POLICY, f"one or more of {', '.join(POLICIES)}; all if none", metavar="POLICY",
        action="extend", nargs="+",
    )  # fmt: skip
    flags.value("--small", "HOTSHARD_SMALL", "the small tenant that waits", metavar="TENANT")
    flags.switch("--json", "HOTSHARD_JSON", "print one JSON object")


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    stdout()  # whatever is wrong with it is better said before an hour's work
    chosen = _policies(args.policy or [environ.get(_POLICY, "")])
    with open_input(args, environ) as records:
        report = _simulated(records, args, chosen or tuple(POLICIES))
        report = _about_tenants(report, records.name, args.small, asked=_TENANT in chosen)
    put(encode(report).decode() if args.json else _rendered(report, environ))
    return FAILED if records.failed(report.records) else FINE


def _simulated(records: Input, args: argparse.Namespace, policies: Sequence[str]) -> SimulationReport:
    simulation = from_extra("worker", "hotshard.core.simulating", "Simulation")(
        policies,
        _ground(records, args),
        small=None if args.small is None else os.fsencode(args.small),
        layout=records.spec.layout,
    )
    for slab in records.slabs():
        simulation.add(slab)
    return cast("SimulationReport", simulation.finish())


def _ground(records: Input, args: argparse.Namespace) -> Ground:
    name = args.partitioner or records.spec.partitioner
    partitions = (
        whole("--partitions", args.partitions, _MOST_PARTITIONS)
        if args.partitions
        else records.partitions or _PARTITIONS
    )
    return Ground(partitions, terms_of(dataclasses.replace(records.spec, partitioner=partitioner(name).name)))


def _policies(words: Sequence[str]) -> tuple[str, ...]:
    """What ``--policy`` names, each once: given several times, as several words, or with commas. Empty: not given."""
    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    for name in names:
        if name not in POLICIES:
            hint = nearest(name, POLICIES) or "; FILE goes before --policy"
            raise UsageError(f"no policy is called {name!r}; there are {', '.join(POLICIES)}{hint}")
    return tuple(dict.fromkeys(names))


def _about_tenants(report: SimulationReport, name: str, small: str | None, *, asked: bool) -> SimulationReport:
    """The report, without what cannot be said where no record has a tenant. Raises InputError where it was asked."""
    if report.small_records:
        return report
    if small is not None and report.records:
        raise InputError(f"{name} has no record of tenant {small!r}; name one that it has, or leave --small out")
    if asked and report.records:
        raise InputError(f"no record of {name} has a tenant; leave --policy {_TENANT} out, or give a file with tenants")
    if not report.records:
        return report
    tell(f"no record of {name} has a tenant: policy {_TENANT} is left out")
    rest = tuple(each for each in report.policies if each.policy != _TENANT)
    return msgspec.structs.replace(report, policies=rest)


def _rendered(report: SimulationReport, environ: Mapping[str, str]) -> str:
    render, how = from_extra("worker", "hotshard.report.simulation", "render_simulation"), look(environ)
    return cast("str", render(report, width=how.width, plain=how.plain)).rstrip("\n")
