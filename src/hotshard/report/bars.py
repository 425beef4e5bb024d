"""Bars made of characters, to an eighth of a character where the terminal can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def bar(value: float, most: float, width: int, *, plain: bool = False) -> str:
    """Return ``value`` as a bar where ``most`` fills ``width`` characters; longer ones are cut there.

    ``plain`` uses ``#`` alone. Whatever is above zero shows at least a trace.
    """
    if value <= 0 or most <= 0 or width <= 0:
        return ""
    eighths = max(1, min(width * 8, round(value / most * width * 8)))
    if plain:
        return "#" * max(1, round(eighths / 8))
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def stacked(parts: Sequence[float], most: float, width: int, *, plain: bool = False) -> list[str]:
    """Return one piece of bar for each part, so that the pieces set side by side are as long as the whole's bar.

    Only the last piece that shows ends within a character.
    """
    total = sum(parts)
    whole = bar(total, most, width, plain=plain)
    pieces, begun, so_far = [], 0, 0.0
    for part in parts:
        so_far += part
        upto = round(len(whole) * so_far / total) if total > 0 else 0
        pieces.append(whole[begun:upto])
        begun = upto
    return pieces
