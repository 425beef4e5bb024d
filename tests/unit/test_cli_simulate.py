"""``hotshard simulate``, called in this process."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import statistics
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len

from hotshard.cli.main import main
from hotshard.core.partitioners import partition_of
from hotshard.core.planning.strategies.names import POLICIES

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]
Row = tuple[str, str]


def rows(seed: int = 1) -> list[Row]:
    """Tenant and key: one tenant floods one key, and a small one has ten records among many others."""
    chance = random.Random(seed)  # noqa: S311 -- a simulation
    flood = [("large", "broadcast")] * 30_000
    others = [(f"tenant-{chance.randrange(40)}", f"basket-{chance.randrange(4_000)}") for _ in range(30_000)]
    small = [("small", f"basket-s{number}") for number in range(10)]
    mixed = flood + others + small
    chance.shuffle(mixed)
    return mixed


def tsv(some: list[Row]) -> bytes:
    return "".join(
        f"{1_700_000_000_000 + at}\t{tenant}\t{key}\t100\n" for at, (tenant, key) in enumerate(some)
    ).encode()


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.tsv.gz"
    path.write_bytes(gzip.compress(tsv(rows()), 1))
    return path


def simulated(capsys: Capture, *argv: str) -> dict[str, Any]:
    assert main(["simulate", *argv, "--json"]) == 0
    out, _ = capsys.readouterr()
    found = json.loads(out)
    found["by"] = {each["policy"]: each for each in found["policies"]}
    return found  # type: ignore[no-any-return]  # JSON


def exact(some: list[Row], place_by: int, partitions: int, small: str) -> dict[str, Any]:
    place_of = partition_of("murmur2", partitions)
    loads = Counter(place_of(row[place_by].encode()) for row in some)
    own = Counter(place_of(row[place_by].encode()) for row in some if row[0] == small)
    every = [loads[number] for number in range(partitions)]
    return {
        "max": max(every),
        "median": statistics.median(every),
        "ratio": max(every) / max(1, statistics.median(every)),
        "imbalance": max(every) * partitions / sum(every),
        "small_waits_behind": max(loads[place] - count for place, count in own.items()),
    }


def test_the_plain_hashes_come_to_what_an_exact_count_says(traffic: Path, capsys: Capture) -> None:
    found = simulated(capsys, str(traffic), "--partitions", "12", "--small", "small")
    for policy, place_by in (("tenant", 0), ("key", 1)):
        wanted = exact(rows(), place_by, 12, "small")
        assert {name: found["by"][policy][name] for name in wanted} == pytest.approx(wanted)
    assert (found["records"], found["unkeyed"], found["skipped"], found["partitions"]) == (60_010, 0, 0, 12)


def test_all_policies_are_told_in_one_form_and_ours_takes_the_flood_away(traffic: Path, capsys: Capture) -> None:
    found = simulated(capsys, str(traffic), "--small", "small")
    assert list(found["by"]) == list(POLICIES)
    fields = {"policy", "max", "median", "ratio", "imbalance", "small_waits_behind"}
    assert all(set(each) == fields for each in found["policies"])
    assert found["by"]["key"]["imbalance"] > 15
    assert found["by"]["placed"]["imbalance"] < 1.3
    assert found["by"]["placed"]["imbalance"] < found["by"]["hashed"]["imbalance"]
    assert found["by"]["placed"]["small_waits_behind"] <= found["by"]["placed"]["max"]


def test_without_a_name_the_small_tenant_is_the_smallest_with_ten_records(traffic: Path, capsys: Capture) -> None:
    found = simulated(capsys, str(traffic), "--policy", "key")
    assert (found["small"], found["small_records"]) == ("small", 10)


@pytest.mark.parametrize(
    "words", [["--policy", "key", "placed"], ["--policy", "key", "--policy", "placed"], ["--policy", "key,placed"]]
)
def test_policies_may_be_given_in_each_way_that_one_would_try(traffic: Path, words: list[str], capsys: Capture) -> None:
    assert list(simulated(capsys, str(traffic), *words)["by"]) == ["key", "placed"]


def test_the_environment_may_name_policies_too(traffic: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOTSHARD_POLICY", "pkg, key")
    assert list(simulated(capsys, str(traffic))["by"]) == ["pkg", "key"]
    assert list(simulated(capsys, str(traffic), "--policy", "tenant")["by"]) == ["tenant"]


def test_keys_alone_have_no_tenant_and_that_is_said(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"a\nb\na\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["simulate", "-", "--format", "keys", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert [each["policy"] for each in found["policies"]] == [name for name in POLICIES if name != "tenant"]
    assert {each["small_waits_behind"] for each in found["policies"]} == {None}
    assert found["small"] is None
    assert "no record of standard input has a tenant: policy tenant is left out" in err


def test_the_tenant_of_a_key_of_ours_is_found_in_it(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"acme\x1fone\n" * 20 + b"zoo\x1ftwo\n" * 12)
    found = simulated(capsys, str(path), "--format", "keys", "--partitions", "1")
    assert (found["small"], found["small_records"]) == ("zoo", 12)
    assert {each["small_waits_behind"] for each in found["policies"]} == {20}


def test_an_empty_file_is_no_fault(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "nothing"
    path.write_bytes(b"")
    found = simulated(capsys, str(path))
    assert found["records"] == 0
    assert {(each["max"], each["imbalance"]) for each in found["policies"]} == {(0, 1.0)}
    assert main(["simulate", str(path)]) == 0
    assert capsys.readouterr().out.startswith("There are no records.")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["--policy", "plced"], 2, "no policy is called 'plced'; .* did you mean placed"),
        (["--partitions", "0"], 2, "--partitions takes a whole number from 1"),
        (["--partitions", "x"], 2, "--partitions takes a whole number from 1"),
        (["--partitioner", "murmur"], 2, "did you mean murmur2"),
        (["--small", "nobody"], 1, "has no record of tenant 'nobody'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    traffic: Path, argv: list[str], code: int, said: str, capsys: Capture
) -> None:
    assert main(["simulate", str(traffic), *argv]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(said, err)
    assert err.count("\n") == 1


def test_a_file_that_is_not_there_is_wrong_use(capsys: Capture) -> None:
    assert main(["simulate", "/nowhere/at/all"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_policy_tenant_asked_for_without_any_tenant_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"a\nb\n")
    assert main(["simulate", str(path), "--format", "keys", "--policy", "tenant"]) == 1
    assert "has a tenant" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_the_table_fits_the_terminal(
    traffic: Path, columns: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["simulate", str(traffic)]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("Hashed by key the fullest")
    assert max(map(cell_len, out.splitlines())) <= columns
    table = re.findall(r"^([a-z-]+) +\d", out, re.MULTILINE)
    assert table == list(POLICIES)
    assert "\x1b" not in out


def test_help_defines_what_waiting_means(capsys: Capture) -> None:
    assert main(["simulate", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "small_waits_behind is the most records of others on a partition" in told
    assert all(name in told for name in POLICIES)
