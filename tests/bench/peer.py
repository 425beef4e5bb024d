"""What the peers have in common: how they are called, and how they tell what they did."""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """What a peer is to read."""

    bootstrap: str
    topic: str
    group: str
    records: int
    #: Stop after so long, counted from the assignment as the peer sees it; 0 is never.
    for_s: float
    result: Path
    #: Records a ``getmany`` gives at most; 0 is all there are.
    at_once: int = 0

    def arguments(self) -> list[str]:
        return [f"--{name.replace('_', '-')}={value}" for name, value in asdict(self).items()]

    def tell(self, records: int) -> None:
        """Say that it is done, now. ``time.monotonic`` is one clock for all processes of a machine."""
        done = Done(records, time.monotonic(), time.process_time())
        half = self.result.with_suffix(".half")
        half.write_text(json.dumps(asdict(done)))
        os.replace(half, self.result)  # noqa: PTH105 - a reader sees all of it or nothing


@dataclass(frozen=True)
class Done:
    """What a peer has done: records read, when it was done, and the processor time it has used until then."""

    records: int
    end_s: float
    cpu_s: float


def asked() -> Job:
    """The job in the arguments of this process."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "group"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--for-s", type=float, required=True)
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--at-once", type=int, required=True)
    return Job(**vars(parser.parse_args()))


def told(result: Path) -> Done | None:
    """What the peer told, or None: it is not done."""
    return Done(**json.loads(result.read_text())) if result.exists() else None
