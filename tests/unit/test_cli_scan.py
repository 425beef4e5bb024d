"""``hotshard scan``, called in this process."""

from __future__ import annotations

import gc
import gzip
import io
import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hotshard.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]
BEGIN_MS = 1_700_000_000_000


def tsv(path: Path, rows: int = 6_000, hot: int = 0) -> str:
    """A file of many keys; of every ten records the first ``hot`` are of one."""
    keys = ("hot" if at % 10 < hot else f"k{at * 7919 % 4999}" for at in range(rows))
    path.write_text("".join(f"{BEGIN_MS + at * 10}\tt{at % 10}\t{key}\t100\n" for at, key in enumerate(keys)))
    return str(path)


def scan(capsys: Capture, *argv: str) -> tuple[int, dict[str, Any]]:
    code = main(["scan", *argv, "--json"])
    said = capsys.readouterr()
    assert said.err == ""
    found: dict[str, Any] = json.loads(said.out, parse_constant=pytest.fail)
    return code, found


def refused(capsys: Capture, *argv: str) -> str:
    assert main(["scan", *argv]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_it_exits_with_0_where_nothing_is_wrong_and_with_1_where_something_is_hot(
    capsys: Capture, tmp_path: Path
) -> None:
    code, report = scan(capsys, tsv(tmp_path / "calm"))
    assert (code, report["cause"], report["records"]) == (0, "none", 6_000)
    code, report = scan(capsys, tsv(tmp_path / "flood", hot=3))
    assert (code, report["cause"], report["keys"][0]["key"], report["keys"][0]["hot"]) == (1, "hot_key", "hot", True)
    assert main(["scan", "--help"]) == 0
    assert "with 1 where something is hot" in capsys.readouterr().out


def test_the_json_has_what_others_rely_on(capsys: Capture, tmp_path: Path) -> None:
    _, report = scan(capsys, tsv(tmp_path / "flood", hot=3))
    assert {
        "records", "skipped", "unkeyed", "distinct_keys", "span_s", "threshold", "threshold_tenants", "guaranteed",
        "partitions", "skew", "keys", "tenants", "windows_total", "windows", "cause", "advice", "plans",
    } <= report.keys()  # fmt: skip
    assert {"partition", "load", "share", "top_keys", "top_tenants"} <= report["partitions"][0].keys()
    assert {"total", "max", "median", "ratio", "imbalance", "idle", "hottest"} == report["skew"].keys()
    assert {"key", "tenant", "estimate", "lower", "upper", "share", "hot"} <= report["keys"][0].keys()
    assert {"start_ms", "end_ms", "records", "hot_keys", "hot_tenants", "cause"} <= report["windows"][0].keys()
    assert {
        "key", "treatment", "shards", "suffixes", "partitions", "imbalance_before", "imbalance_after", "reason",
    } <= report["plans"][0].keys()  # fmt: skip
    assert len(report["partitions"]) == 32


def test_flags_are_obeyed(capsys: Capture, tmp_path: Path) -> None:
    flood = tsv(tmp_path / "flood", hot=3)
    assert len(scan(capsys, flood, "--partitions", "7")[1]["partitions"]) == 7
    assert scan(capsys, flood, "--load", "bytes")[1]["skew"]["total"] == 600_000
    assert scan(capsys, flood, "--by", "tenant")[1]["skew"]["idle"] > 20
    assert scan(capsys, flood, "--window", "20")[1]["windows_total"] == 3
    assert scan(capsys, flood, "--ordering", "per_key")[1]["plans"][0]["treatment"] == "rekey"
    one, other = (scan(capsys, flood, "--partitioner", name)[1]["partitions"] for name in ("murmur2", "crc32"))
    assert one != other


def test_the_environment_stands_for_flags(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flood = tsv(tmp_path / "flood", hot=3)
    monkeypatch.setenv("HOTSHARD_PARTITIONS", "5")
    assert len(scan(capsys, flood)[1]["partitions"]) == 5
    monkeypatch.setenv("HOTSHARD_LOAD", "weight")
    assert "--load is one of records, bytes" in refused(capsys, flood)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--partitions", "0"], "--partitions takes a whole number"),
        (["--partitions", "9" * 5000], "--partitions takes a whole number from 1 to 100,000"),
        (["--partitions", "many"], "--partitions takes a whole number"),
        (["--window", "soon"], "--window takes seconds"),
        (["--window", "nan"], "--window takes seconds"),
        (["--partitioner", "murmur"], "murmur2"),
        (["--by", "colour"], "--by"),
        (["--load", "weight"], "(choose from 'records', 'bytes')"),
        (["--format", "csv"], "csv"),
    ],
)
def test_wrong_use_is_answered_in_a_line(capsys: Capture, tmp_path: Path, argv: list[str], told: str) -> None:
    assert told in refused(capsys, tsv(tmp_path / "rows", rows=10), *argv)


def test_partitions_by_tenant_need_a_tenant(capsys: Capture, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("a\nb\n")
    assert "tenant" in refused(capsys, str(keys), "--by", "tenant")


def test_standard_input_gzip_and_keys_alone(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(b"".join(b"k%d\n" % (at % 997) for at in range(5_000)))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    code, report = scan(capsys, "-")
    assert (code, report["records"], report["distinct_keys"], report["windows_total"]) == (0, 5_000, 997, 1)
    assert report["windows"][0]["start_ms"] is None


def test_an_empty_file_is_a_report_of_nothing(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert main(["scan", str(path), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["records"] == 0
    assert "empty" in said.err


def test_times_that_look_like_seconds_are_told(capsys: Capture, tmp_path: Path) -> None:
    rows = [line.split("\t", 1) for line in (tmp_path / tsv(tmp_path / "calm")).read_text().splitlines()]
    for divisor, told in ((1, 0), (1000, 1)):
        (tmp_path / "rows").write_text("".join(f"{int(at) // divisor}\t{rest}\n" for at, rest in rows))
        main(["scan", str(tmp_path / "rows")])
        assert capsys.readouterr().err.count("they look like seconds; multiply by 1000") == told
    (tmp_path / "rows").write_text("".join(f"{number}\t{rest}\n" for number, (_, rest) in enumerate(rows)))
    main(["scan", str(tmp_path / "rows")])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["scan", "simulate"])
def test_what_is_cut_off_or_has_not_one_good_line_ends_with_1(capsys: Capture, tmp_path: Path, command: str) -> None:
    rows = tsv(tmp_path / "calm")
    (tmp_path / "cut.gz").write_bytes(gzip.compress((tmp_path / "calm").read_bytes())[:-200])
    (tmp_path / "wrong").write_text(f"{BEGIN_MS}\tt\tk\t{10**18}\n" * 100)
    (tmp_path / "some").write_text(f"{BEGIN_MS}\tt\tk\t{10**18}\n" + (tmp_path / "calm").read_text())
    codes = [main([command, str(tmp_path / name)]) for name in ("calm", "cut.gz", "wrong", "some")]
    assert codes == [0, 1, 1, 0], rows
    err = capsys.readouterr().err.splitlines()
    assert "cut.gz is cut off" in err[0]
    assert [line.split(": ")[2].split(";")[0] for line in err[1:]] == ["100 skipped", "1 skipped"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_report_fits_the_terminal(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["scan", tsv(tmp_path / "flood", hot=3)]) == 1
    out = capsys.readouterr().out
    assert "hot" in out
    assert max(map(len, out.splitlines())) <= columns


def test_the_garbage_collector_is_as_it_was(capsys: Capture, tmp_path: Path) -> None:
    before = gc.get_threshold()
    scan(capsys, tsv(tmp_path / "rows", rows=10))
    assert gc.get_threshold() == before
