"""Checks of lit files can fail, and the script that finds those that cannot detects each kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_lines import ROOT, all_faults, faults, lit_files

GOOD = """// RUN: relax-opt %s --some-pass | filecheck %s
// CHECK-LABEL: func.func @f
// CHECK-NOT: relax.exp
// CHECK: relax.abs
// CHECK-NEXT: return
func.func @f(%x: i1) {
  "relax.exp"(%x)
  "relax.abs"(%x)
  return
}
"""
RUN = "// RUN: relax-opt %s --some-pass | filecheck %s\n"
CASES = {
    "unused": (GOOD + "// OTHER: relax.abs\n", "no RUN line uses the prefix OTHER"),
    "spare": (GOOD.replace("filecheck %s", "filecheck %s --check-prefixes=CHECK,MORE"), "MORE, which has no"),
    "no check": ("// RUN: relax-opt %s --some-pass\n" + GOOD, "1: the RUN line checks nothing"),
    "no reader": (f"// RUN: relax-opt %s -o %t.a\n{GOOD}", "1: the RUN line checks nothing"),
    "line": (
        GOOD.replace("NEXT: return", "NOT: relax.exp\n// CHECK-NEXT: return"),
        "5: -NEXT follows, so there is no line",
    ),
    "too early": (
        GOOD.replace("CHECK-NEXT: return", "CHECK-NOT: scf.yield\n// CHECK: return").replace(
            '  "relax.abs"', '  scf.yield\n  "relax.abs"'
        ),
        "5: 'scf.yield' is in the source, but not where",
    ),
    "too late": (
        GOOD.replace("-NOT: relax.exp", "-NOT: relax.call").replace("return\n}", "relax.call\n}"),
        "3:",
    ),
    "open name": (
        GOOD.replace("relax.abs\n// CHECK-NEXT", "relax.abs(%[[X]]\n// CHECK-NEXT"),
        "4: this also matches longer",
    ),
    "open expression": (
        GOOD.replace("NEXT: return", "NEXT: return %[[X]]{{.*}}"),
        "5: this also matches longer",
    ),
    "misspelled": (GOOD.replace("-NOT: relax.exp", "-NOT: relax.epx"), "no op is called 'relax.epx'"),
}


def found(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "case.mlir"
    path.write_text(text)
    return list(faults(path, "relax.exp relax.abs relax.call scf.yield"))


def test_no_lit_file_has_checks_that_cannot_fail() -> None:
    files = lit_files()
    assert len(files) > 200
    wrong = [f"{p.relative_to(ROOT)}:{text}" for p, texts in all_faults(files).items() for text in texts]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("text", "message"), CASES.values(), ids=CASES)
def test_each_kind_is_found(tmp_path: Path, text: str, message: str) -> None:
    (only,) = found(tmp_path, text)
    assert message in only


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "// RUN: relax-opt %s -o %t.a && relax-opt %t.a | filecheck %s\n" + GOOD.removeprefix(RUN),
        "// RUN: relax-opt %s -o %t.a\n// RUN: relax-opt %t.a | filecheck %s\n" + GOOD.removeprefix(RUN),
        GOOD.replace("NEXT: return", "NEXT: return %[[X]]{{$}}"),
        GOOD.replace("-NOT: relax.exp", "-NOT: scf.yield"),  # which the pass might create
        GOOD.replace("CHECK: relax.abs", "CHECK: relax.made\n// CHECK-NOT: relax.exp").replace(
            "NEXT", "SAME"
        ),  # at an unknown place
    ],
    ids=["plain", "chained", "through a file", "exact name", "made by the pass", "after what the pass makes"],
)
def test_nothing_else_is(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []
