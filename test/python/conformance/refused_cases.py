"""The list of refused cases in docs/onnx.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from case_runner import Outcome

PAGE = Path(__file__).resolve().parents[3] / "docs/onnx.md"
_LIST = re.compile(r"(?<=<!-- refused -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
_ROW = re.compile(r"^\| `(\S+)` \| `(\S+)` \|", re.MULTILINE)


def listed() -> set[tuple[str, str]]:
    """Suite and name of each case in the list."""
    found = _LIST.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None, f"{PAGE} has no list of refused cases"
    return {(kind, name) for kind, name in _ROW.findall(found[0])}


def write(outcomes: Sequence[Outcome]) -> None:
    """Write the list anew."""
    rows = [
        f"| `{outcome.kind}` | `{outcome.name}` | {reason_of(outcome)} |\n"
        for outcome in sorted(outcomes, key=lambda o: (o.kind, o.name))
        if outcome.verdict == "refused"
    ]
    text = "\n| Suite | Case | Reason |\n|---|---|---|\n" + "".join(rows) + "\n"
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_LIST.sub(lambda _: text, page), encoding="utf-8")


def reason_of(outcome: Outcome) -> str:
    """The first sentence of an error, without the node."""
    reason = re.sub(r"node (of output )?'[^']*' ", "", outcome.reason)
    reason = re.sub(r"the model uses \d+ ops? .*?:\s+(.*? of opset \d+) \(.*", r"no rule for \1", reason)
    reason = re.sub(r"^(\([\w.]+\): )+", "", reason)
    return reason.partition(": (")[0].split("; expected one of")[0].replace("|", "/")[:160]


def surprises(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Cases that are refused and not listed."""
    known = listed()
    return [o for o in outcomes if o.verdict == "refused" and (o.kind, o.name) not in known]
