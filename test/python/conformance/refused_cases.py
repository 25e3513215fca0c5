"""The conformance statement of docs/onnx.md: the number of cases that pass, and the list of refused cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from case_runner import Outcome

PAGE = Path(__file__).resolve().parents[3] / "docs/onnx.md"
_LIST = re.compile(r"(?<=<!-- refused -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
_ROW = re.compile(r"^\| `(\S+)` \| `(\S+)` \|", re.MULTILINE)


_TABLE = re.compile(r"(?<=<!-- suites -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
VERDICTS = ("passed", "refused", "failed")


def counts(outcomes: Sequence[Outcome]) -> list[tuple[str, list[int]]]:
    """For each suite that was run, the number of cases with each verdict."""
    kinds = dict.fromkeys(outcome.kind for outcome in outcomes)
    found = []
    for kind in kinds:
        verdicts = [outcome.verdict for outcome in outcomes if outcome.kind == kind]
        found.append((kind, [len(verdicts), *(verdicts.count(verdict) for verdict in VERDICTS)]))
    return found


def listed() -> set[tuple[str, str]]:
    """Suite and name of each case in the list."""
    found = _LIST.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None, f"{PAGE} has no list of refused cases"
    return {(kind, name) for kind, name in _ROW.findall(found[0])}


def write(outcomes: Sequence[Outcome]) -> None:
    """Rewrite the table and the list."""
    suites = [
        f"| `{kind}` | " + " | ".join(f"{number:,}" for number in numbers) + " |\n"
        for kind, numbers in counts(outcomes)
    ]
    summary = "\n| Suite | Cases | Passed | Refused | Failed |\n|---|---|---|---|---|\n" + "".join(suites) + "\n"
    rows = [
        f"| `{outcome.kind}` | `{outcome.name}` | {reason_of(outcome)} |\n"
        for outcome in sorted(outcomes, key=lambda o: (o.kind, o.name))
        if outcome.verdict == "refused"
    ]
    text = "\n| Suite | Case | Reason |\n|---|---|---|\n" + "".join(rows) + "\n"
    page = PAGE.read_text(encoding="utf-8")
    for pattern, part in ((_TABLE, summary), (_LIST, text)):
        page = pattern.sub(part.replace("\\", "\\\\"), page, count=1)
    PAGE.write_text(page, encoding="utf-8")


def reason_of(outcome: Outcome) -> str:
    """The first sentence of an error, without the node."""
    reason = re.sub(r"node (of output )?'[^']*' ", "", outcome.reason)
    reason = re.sub(r"the model uses \d+ ops? .*?:\s+(.*? of opset \d+) \(.*", r"no rule for \1", reason)
    reason = re.sub(r"^(\([\w.]+\): )+", "", reason)
    return reason.partition(": (")[0].split("; expected one of")[0].replace("|", "/")[:160]


def surprises(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Cases that are refused but not listed."""
    known = listed()
    return [o for o in outcomes if o.verdict == "refused" and (o.kind, o.name) not in known]
