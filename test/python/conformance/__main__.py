"""``make conformance``: all cases of ONNX's suites, and a table of what became of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from campaign import Outcome, run_cases
from suites import KINDS, case_names


def main() -> int:
    """Run the suites; 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--suite", choices=KINDS, action="append")
    parser.add_argument("--match", default="", help="only cases whose names contain this")
    parser.add_argument("--out", type=Path, help="write the outcomes there, a line each")
    options = parser.parse_args()
    cases = [
        (kind, name) for kind in options.suite or KINDS for name in case_names(kind) if options.match in name
    ]
    outcomes = run_cases(cases, options.workers)
    if options.out:
        options.out.write_text("".join(f"{o.kind}\t{o.name}\t{o.verdict}\t{o.reason}\n" for o in outcomes))
    for outcome in outcomes:
        if outcome.verdict != "passed":
            print(f"{outcome.verdict} {outcome.kind} {outcome.name}: {outcome.reason[:300]}")
    print(table(outcomes))
    return 1 if any(outcome.verdict == "failed" for outcome in outcomes) else 0


def table(outcomes: list[Outcome]) -> str:
    """Suite, cases, and how many of them passed, are refused with a reason, and failed."""
    lines = ["suite               cases  passed  refused  failed"]
    for kind in KINDS:
        verdicts = [outcome.verdict for outcome in outcomes if outcome.kind == kind]
        counts = [verdicts.count(verdict) for verdict in ("passed", "refused", "failed")]
        if verdicts:
            lines.append(f"{kind:<18}{len(verdicts):>7}{counts[0]:>8}{counts[1]:>9}{counts[2]:>8}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
