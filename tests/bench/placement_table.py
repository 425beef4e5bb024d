"""The comparison of placements as tables in Markdown, and their place in the README."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BEGIN: Final = "<!-- placement: made by `make compare` -->"
END: Final = "<!-- end of placement -->"
OURS: Final = "placed"
NAMES: Final = {
    "key": "plain hash",
    "hashed": "hashed suffixes",
    "pkg": "PKG",
    "d-choices": "D-Choices",
    "w-choices": "W-Choices",
    OURS: "**hotshard**",
}
#: Stands beside a number that is above the tolerance because of keys too small to split.
MARK: Final = "*"


class Outcome(NamedTuple):
    """Fullest partition over mean; keys that lie on more than one partition, and on how many these lie together."""

    imbalance: float
    split: int
    places: int


class Cell(NamedTuple):
    """One stream over one partition count, by all policies."""

    exponent: float
    partitions: int
    #: Fullest partition over mean of the keys alone that are too small to split.
    rest: float
    outcomes: Mapping[str, Outcome]

    def is_above(self, eps: float) -> bool:
        """Our placement is above the tolerance, to the two digits that are shown."""
        return round(self.outcomes[OURS].imbalance, 2) > round(1 + eps, 2)

    def is_missed(self, eps: float) -> bool:
        """The same, although the rest would allow less."""
        return self.is_above(eps) and self.rest <= 1 + eps

    def as_json(self) -> dict[str, Any]:
        outcomes = {policy: outcome._asdict() for policy, outcome in self.outcomes.items()}
        return {"zipf": self.exponent, "partitions": self.partitions, "rest": self.rest, "policies": outcomes}


def tables(cells: Sequence[Cell], eps: float) -> str:
    """How even each policy is, and below what it costs: keys that have to be put together again by who reads them."""
    return "\n".join(
        [
            *_lines(["Zipf", "partitions", "rest", *NAMES.values()], [_imbalances(cell, eps) for cell in cells]),
            "",
            "<details><summary>What it costs: keys that lie on several partitions, and on how many together</summary>",
            "",
            *_lines(["Zipf", "partitions", *list(NAMES.values())[1:]], [_costs(cell) for cell in cells]),
            "",
            "</details>",
        ]
    )


def with_tables(readme: str, cells: Sequence[Cell], eps: float) -> str:
    """The README with these tables between its marks. Raises ValueError where it has not one pair of them."""
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"the README must have one line {BEGIN} and one line {END}")
    head, _, rest = readme.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables(cells, eps)}\n\n{END}{tail}"


def _imbalances(cell: Cell, eps: float) -> list[str]:
    rest = f"**{cell.rest:.2f}**" if cell.rest > 1 + eps else f"{cell.rest:.2f}"
    numbers = [f"{cell.outcomes[policy].imbalance:.2f}" for policy in NAMES]
    mark = MARK if cell.is_above(eps) and not cell.is_missed(eps) else ""
    return [f"{cell.exponent:.1f}", str(cell.partitions), rest, *numbers[:-1], f"**{numbers[-1]}**{mark}"]


def _costs(cell: Cell) -> list[str]:
    outcomes = [cell.outcomes[policy] for policy in NAMES if policy != "key"]
    costs = [f"{each.split:,} on {each.places:,}" for each in outcomes]
    return [f"{cell.exponent:.1f}", str(cell.partitions), *costs]


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---:"] * len(head), *rows)]
