"""The jars of Apache Kafka: fetched once by Maven into a folder that is either complete or not there."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hotshard.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

KAFKA_VERSION = "4.1.1"
_JAVA_NEEDED = 17
_FETCH_WITHIN_S = 600

_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>hotshard</groupId><artifactId>kafka-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""


def cache_folder() -> Path:
    """``.cache/kafka`` of the checkout this file lies in, else the user's cache folder."""
    for parent in Path(__file__).resolve().parents:
        if (parent / "pyproject.toml").is_file() and (parent / "src" / "hotshard").is_dir():
            return parent / ".cache" / "kafka"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "hotshard" / "kafka"


def java_missing() -> str | None:
    """Say why Java cannot run Kafka; None when it can."""
    if shutil.which("java") is None:
        return "java is not installed"
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if found is None or int(found[1]) < _JAVA_NEEDED:
        return f"java is older than {_JAVA_NEEDED}"
    return None


def jars_missing(cache: Path | None = None) -> str | None:
    """Say why the jars are neither there nor to be had; None when they are or Maven can be asked."""
    if _jars(cache or cache_folder()).is_dir() or shutil.which("mvn") is not None:
        return None
    return "the Kafka artifacts are not there and Maven is not installed"


def kafka_jars(cache: Path | None = None) -> Path:
    """Return the folder with the jars; fetches them (43 MB, some seconds) when they are not there.

    Any number of processes may ask at once, and any may be killed while it fetches. Raises UnavailableError.
    """
    cache = cache or cache_folder()
    jars = _jars(cache)
    if jars.is_dir():
        return jars
    with _alone(cache):
        if not jars.is_dir():
            _fetch(cache, jars)
    return jars


def _jars(cache: Path) -> Path:
    return cache / KAFKA_VERSION


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Hold the cache's lock; it goes with its holder, however that ends."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(cache: Path, jars: Path) -> None:
    for half in cache.glob("half-*"):  # of somebody killed while fetching: we hold the lock
        shutil.rmtree(half, ignore_errors=True)
    half = Path(tempfile.mkdtemp(prefix="half-", dir=cache))
    try:
        (half / "pom.xml").write_text(_POM.format(version=KAFKA_VERSION))
        _maven(half)
        (half / "jars").rename(jars)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _maven(folder: Path) -> None:
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder / 'jars'}"]
    try:
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), *goal],
            capture_output=True,
            text=True,
            check=False,
            timeout=_FETCH_WITHIN_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"Maven could not fetch Apache Kafka: {error}") from error
    if done.returncode != 0:
        words = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no reason given"]
        raise UnavailableError(f"Maven could not fetch Apache Kafka: {words[0]}")
    if not (folder / "jars").is_dir():
        raise UnavailableError("Maven could not fetch Apache Kafka: it left no jars")
