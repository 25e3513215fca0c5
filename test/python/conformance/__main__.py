"""``make conformance``: all cases of ONNX's suites, and a table of the outcomes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import refused_cases
from case_runner import Outcome, run_cases
from onnx_suites import KINDS, case_names


def main() -> int:
    """Run the suites; 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--suite", choices=KINDS, action="append")
    parser.add_argument("--match", action="append", help="only cases whose names contain this, or another one")
    parser.add_argument("--out", type=Path, help="write the outcomes there, a line each")
    parser.add_argument("--write-refused", action="store_true", help="write what docs/onnx.md says of them anew")
    options = parser.parse_args()
    cases = [
        (kind, name)
        for kind in options.suite or KINDS
        for name in case_names(kind)
        if any(part in name for part in options.match or [""])
    ]
    outcomes = run_cases(cases, options.workers, _show)
    if options.out:
        options.out.write_text("".join(f"{o.kind}\t{o.name}\t{o.verdict}\t{o.reason}\n" for o in outcomes))
    print(table(outcomes))
    if options.write_refused:
        refused_cases.write(outcomes)
    unlisted = refused_cases.surprises(outcomes)
    for outcome in unlisted:
        print(f"{outcome.kind} {outcome.name} is refused, but docs/onnx.md does not list it")
    return 1 if unlisted or any(outcome.verdict == "failed" for outcome in outcomes) else 0


def _show(outcome: Outcome) -> None:
    """Print a case that did not pass."""
    if outcome.verdict != "passed":
        print(f"{outcome.verdict} {outcome.kind} {outcome.name}: {outcome.reason[:300]}", flush=True)


def table(outcomes: list[Outcome]) -> str:
    """Suite, cases, and how many of them passed, are refused with a reason, and failed."""
    lines = ["suite               cases  passed  refused  failed"]
    for kind, numbers in refused_cases.counts(outcomes):
        lines.append(f"{kind:<18}{numbers[0]:>7}{numbers[1]:>8}{numbers[2]:>9}{numbers[3]:>8}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
