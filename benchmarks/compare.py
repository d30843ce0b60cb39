"""arraygrad beside NumPy by hand and the peers that are installed: gradients compared, then timed in turns.

    python benchmarks/compare.py                    all cases
    python benchmarks/compare.py --case mlp --case lstm --quick
    python benchmarks/compare.py --write            puts the table into docs/performance.md, too

Every round runs each library once, so that a figure is a ratio of times of the same moment; all of them on one core.
"""

from __future__ import annotations

import os

# Before NumPy and the others are imported: one thread each.
os.environ |= dict.fromkeys([f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")], "1")
os.environ |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}

import argparse
import gc
import statistics
import sys
import time
from dataclasses import dataclass, field

import report
from cases import BY_HAND, Case, Sample, cases
from libraries import Library, UnsupportedError, installed


@dataclass
class Result:
    """The samples of a case, in the order of the rounds; why there are none of a library."""

    case: Case
    samples: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def figures(self, name: str) -> list[float]:
        """One a round: the ratio to by hand, or where the unit is no time the sample itself."""
        return self.ratios(name, BY_HAND) if self.case.unit == "s" else self.samples[name]

    def ratios(self, name: str, other: str) -> list[float]:
        return [a / b for a, b in zip(self.samples[name], self.samples[other], strict=False)]

    def against(self, other: str) -> float | None:
        """What a bar is compared with: the median of our figure, or of its ratio to another library's."""
        if not self.samples.get("arraygrad") or (other and other not in self.samples):
            return None
        return statistics.median(self.ratios("arraygrad", other) if other else self.samples["arraygrad"])


def measure(case: Case, libraries: list[Library], runs: int, budget: float) -> Result:
    """At least `runs` rounds of ours and by hand; of a peer fewer, but three, once it has taken `budget` seconds."""
    case.check(libraries)
    runs = min(runs, case.most_runs)
    result = Result(case)
    samples: dict[str, Sample] = {BY_HAND: case.sample(None)}
    for library in libraries:
        try:
            samples[library.name] = case.sample(library)
        except UnsupportedError as reason:
            result.missing[library.name] = str(reason)
    spent = dict.fromkeys(samples, 0.0)
    for number in range(runs):
        for name, sample in list(samples.items()):
            if number >= 3 and spent[name] > budget and name not in (BY_HAND, "arraygrad"):
                continue
            progress(f"{case.name}: {number + 1} of {runs}, {name}")
            start = time.perf_counter()
            gc.collect()  # of what the one before has left
            try:
                result.samples.setdefault(name, []).append(sample())
            except UnsupportedError as reason:
                result.missing[name] = str(reason)
                del samples[name]
            spent[name] += time.perf_counter() - start
    progress("")
    return result


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<60}", end="\r" if not text else "", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time arraygrad beside NumPy by hand and other libraries.")
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes and 2 rounds: whether everything works")
    parser.add_argument("--library", action="append", default=[], metavar="NAME", help="only these, and by hand")
    parser.add_argument("--write", action="store_true", help="write the table into docs/performance.md")
    options = parser.parse_args(arguments)
    chosen = [case for case in cases(options.smoke) if not options.case or case.name in options.case]
    unknown = set(options.case) - {case.name for case in chosen}
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(c.name for c in cases(True))}")
    if options.write and (options.case or options.library or options.smoke):
        parser.error("--write writes the whole table: without --case, --library and --smoke")
    if hasattr(os, "sched_setaffinity") and not options.smoke:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    libraries, absent = installed(options.library)
    for line in absent:
        print(f"not here: {line}")
    gc.freeze()  # the collector need not walk through all that the peers imported
    runs, budget = (2, 1.0) if options.smoke else (5, 5.0) if options.quick else (15, 30.0)
    results = []
    for case in chosen:
        results.append(measure(case, libraries, runs, budget))
        print(report.line(results[-1]), flush=True)
    table = report.table(results, libraries, absent, runs)
    print(f"\n{table}")
    if options.write:
        report.write(table)


if __name__ == "__main__":
    main()
