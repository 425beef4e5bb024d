"""Which room may use which: read from the syntax tree of every file, so that a folder's name can be believed."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}

# Modules without I/O, clock or randomness of their own. Add one only if that is true of it.
PURE = {
    "__future__", "abc", "array", "base64", "binascii", "bisect", "collections", "contextlib", "copy", "dataclasses",
    "datetime", "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "itertools", "json", "math",
    "operator", "re", "statistics", "string", "struct", "types", "typing", "unicodedata", "warnings", "weakref", "zlib",
    "datasketches", "msgspec",
}  # fmt: skip
#: Modules that can do more, of which these rooms use what is pure.
PURE_IN = {"hotshard.core.scanning.placing": {"numpy"}}  # arithmetic on arrays
DOING_IO = {"open", "print", "input", "exec", "eval", "__import__"}
READING_A_CLOCK = {"now", "utcnow", "today"}


class Imports(ast.NodeVisitor):
    """The dotted names a file imports: all of them, and those that importing the file runs."""

    def __init__(self, module: str, *, package: bool) -> None:
        self.all: set[str] = set()
        self.at_import: set[str] = set()
        self._package = module.split(".") if package else module.split(".")[:-1]
        self._later = 0

    def _add(self, *names: str) -> None:
        self.all.update(names)
        if not self._later:
            self.at_import.update(names)

    def visit_Import(self, node: ast.Import) -> None:
        self._add(*(name.name for name in node.names))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        above = self._package[: len(self._package) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        self._add(base, *(f"{base}.{name.name}" for name in node.names))

    def visit_If(self, node: ast.If) -> None:
        """What stands under TYPE_CHECKING is imported by nobody."""
        typing_only = "TYPE_CHECKING" in ast.dump(node.test)
        self._later += typing_only
        for child in node.body:
            self.visit(child)
        self._later -= typing_only
        for child in node.orelse:
            self.visit(child)

    def _visit_function(self, node: ast.AST) -> None:
        self._later += 1
        self.generic_visit(node)
        self._later -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function  # noqa: N815 - names of ast


def imports_of(module: str) -> Imports:
    path = FILES[module]
    imports = Imports(module, package=path.name == "__init__.py")
    imports.visit(ast.parse(path.read_text()))
    return imports


IMPORTS = {module: imports_of(module) for module in FILES}


def in_room(name: str, *rooms: str) -> bool:
    return any(name == room or name.startswith(room + ".") for room in rooms)


def rooms(*names: str) -> list[str]:
    return [module for module in FILES if in_room(module, *names)]


def reached(start: str) -> Iterator[str]:
    """Every name that importing ``start`` imports, through our own files, the packages above them included."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        parts = name.split(".")
        waiting += [".".join(parts[:n]) for n in range(1, len(parts))] if name in FILES else []
        waiting += IMPORTS[name].at_import if name in FILES else []


@pytest.mark.parametrize("module", rooms("hotshard.core"))
def test_core_uses_only_core_and_pure_modules(module: str) -> None:
    foreign = {
        name
        for name in IMPORTS[module].all
        if name.split(".")[0] not in PURE | PURE_IN.get(module, set())
        and not in_room(name, "hotshard.core", "hotshard.errors")
        and name != "hotshard"
    }
    assert not foreign


@pytest.mark.parametrize("module", rooms("hotshard.core"))
def test_core_opens_and_prints_nothing_and_reads_no_clock(module: str) -> None:
    called = [node.func for node in ast.walk(ast.parse(FILES[module].read_text())) if isinstance(node, ast.Call)]
    assert not {function.id for function in called if isinstance(function, ast.Name)} & DOING_IO
    assert (
        not {
            function.attr
            for function in called
            if isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id in {"datetime", "date"}
        }
        & READING_A_CLOCK
    )


@pytest.mark.parametrize("module", rooms("hotshard.client", "hotshard.consumer"))
def test_client_and_consumer_never_import_the_job(module: str) -> None:
    assert not {name for name in IMPORTS[module].all if in_room(name, "hotshard.job", "faust", "mode")}
    assert not {name for name in reached(module) if in_room(name, "hotshard.job", "faust", "mode", "datasketches")}


def test_only_the_job_imports_faust() -> None:
    users = {module for module in FILES if any(in_room(name, "faust", "mode") for name in IMPORTS[module].all)}
    assert not {module for module in users if not in_room(module, "hotshard.job")}


@pytest.mark.parametrize("module", rooms("hotshard.doors"))
def test_doors_know_nothing_of_the_rooms_that_use_them(module: str) -> None:
    inside = ("hotshard.job", "hotshard.client", "hotshard.consumer", "hotshard.cli", "hotshard.demo", "hotshard.web")
    assert not {name for name in IMPORTS[module].all if in_room(name, *inside)}


@pytest.mark.parametrize("name", ["hotshard", "hotshard.errors"])
def test_what_a_producer_imports_brings_no_worker_with_it(name: str) -> None:
    heavy = ["faust", "aiokafka", "datasketches", "numpy", "rich", "aiohttp", "hotshard.job"]
    program = f"import sys, {name}; print([m for m in {heavy!r} if m in sys.modules])"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=SOURCE, timeout=60
    )
    assert said.stdout.strip() == "[]"


def test_the_reader_of_imports_sees_each_kind() -> None:
    """The rules above would pass on a reader that sees nothing."""
    imports = Imports("a.b.c", package=False)
    imports.visit(
        ast.parse(
            "import os.path\nfrom . import x\nfrom ..y import z\n"
            "if TYPE_CHECKING:\n    import later\nelse:\n    import now\n"
            "def f():\n    from inner import thing\n"
        )
    )
    assert imports.at_import == {"os.path", "a.b", "a.b.x", "a.y", "a.y.z", "now"}
    assert imports.all - imports.at_import == {"later", "inner", "inner.thing"}


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_a_lock_has_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text()
    packages = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert packages
    assert all("==" in line and line.endswith("\\") for line in packages)
    assert "://" not in text
    assert "--index" not in text
    assert "redis==8.1.0" not in text


def test_the_worker_is_locked_at_the_versions_that_are_tested() -> None:
    locks = {name: (ROOT / "requirements" / f"{name}.txt").read_text().splitlines() for name in ("worker", "dev")}
    pins = {name: {line.split(" ")[0] for line in lines if "==" in line} for name, lines in locks.items()}
    assert pins["worker"] <= pins["dev"]


def test_the_private_names_we_rest_on_are_of_one_faust() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "faust-streaming==0.15.3" in project["optional-dependencies"]["worker"]
    assert not [line for line in project["dependencies"] if "faust" in line or "aiokafka" in line]
