"""The table of the comparison, as text and in docs/performance.md."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cases import BY_HAND

if TYPE_CHECKING:
    from compare import Result
    from libraries import Library

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
DASH = "\N{EN DASH}"
BEGIN, END = "<!-- written by make bench -->", "<!-- until here -->"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values: Sequence[float]) -> str:
    """The median and, of several, the quartiles."""
    middle = number(statistics.median(values))
    if len(values) < 3:
        return middle
    low, _, high = statistics.quantiles(values, method="inclusive")
    return f"{middle} ({number(low)}{DASH}{number(high)})"


def absolute(result: Result) -> str:
    """The figure by hand, which the others are divided by if it is a time."""
    value = statistics.median(result.samples[BY_HAND])
    if result.case.unit != "s":
        return number(value)
    return f"{number(value * 1e3)} ms" if value >= 1e-3 else f"{number(value * 1e6)} us"


def bars(result: Result) -> str:
    """Each bar, our figure where it is not the one in the column, and whether it is met as printed."""
    parts = []
    for other, most in result.case.bars.items():
        ours = result.against(other)
        text = f"≤ {most:g}" + (f" of {other}" if other not in ("", BY_HAND) else "")
        if ours is not None:
            own = f" {number(ours)}," if other not in ("", BY_HAND) else ""
            text += f":{own} {'met' if round(ours, 2) <= most else '**missed**'}"
        parts.append(text)
    return "; ".join(parts)


def line(result: Result) -> str:
    figures = [f"{name} {spread(result.figures(name))}" for name in result.samples if name != BY_HAND]
    return f"{result.case.name:<17}by hand {absolute(result)}, {', '.join(figures)}"


def table(results: Sequence[Result], libraries: Sequence[Library], absent: Sequence[str], runs: int) -> str:
    names = [library.name for library in libraries]
    notes: list[str] = []

    def mark(note: str) -> str:
        if note not in notes:
            notes.append(note)
        return f" [{notes.index(note) + 1}]"

    def cell(result: Result, name: str) -> str:
        if name in result.missing:
            return f"{DASH}{mark(result.missing[name])}"
        samples = result.samples[name]
        text = spread(result.figures(name))
        if len(samples) < min(runs, result.case.most_runs):
            text += f", {len(samples)} runs"
        return text + (mark(result.case.notes[name]) if name in result.case.notes else "")

    rows = [["case", BY_HAND, *names, "bar"], ["---"] * (len(names) + 3)]
    for result in results:
        title = result.case.title + {"arrays": ", in arrays", "x": ""}.get(result.case.unit, "")
        rows.append([title, absolute(result), *(cell(result, name) for name in names), bars(result)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    versions = ", ".join(f"{library.name} {library.version}" for library in libraries)
    lines += ["", *(f"[{number}] {note}.  " for number, note in enumerate(notes, 1))]
    lines += [""] if notes else []
    lines += [f"Not here: {reason}.  " for reason in absent]
    lines += [f"Python {platform.python_version()}, NumPy {np.__version__}, {versions}.  "]
    lines += [f"{processor()}, {os.cpu_count()} cores, one of them used; {runs} rounds; {datetime.date.today()}."]
    return "\n".join(lines)


def processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    return next((row.partition(":")[2].strip() for row in text.splitlines() if row.startswith("model name")), "?")


def write(text: str) -> None:
    """Put the table between the two marks of the page, and leave the rest of it alone."""
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{PAGE.name} lacks its marks"
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
