"""Timing, printing, stage dump, statistics, well-formedness."""

from __future__ import annotations

import io
import types
from pathlib import Path

import pytest
from relax_mlir.error import Diagnostic, PassError
from relax_mlir.instrument import (
    DumpStages,
    PassInstrument,
    PassStatistics,
    PassTimingInstrument,
    PrintAfter,
    PrintBefore,
    WellFormed,
    instruments,
    pass_instrument,
)
from relax_mlir.mlir import ir
from relax_mlir.transform import MLIRPass, PassContext, PassInfo, Sequential, module_pass

TWO_ADDS = """
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""


def parse() -> ir.Module:
    return ir.Module.parse(TWO_ADDS, ir.Context())


@module_pass(name="raise")
def failing(module: ir.Module, ctx: PassContext) -> None:
    raise ValueError("x")


def test_timing_is_a_tree_with_mlir_passes_inside() -> None:
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([MLIRPass("cse,func.func(canonicalize)", name="clean-up")], name="all")(parse())
    (outer,) = timing.passes
    assert [outer.name, outer.children[0].name] == ["all", "clean-up"]
    assert [child.name for child in outer.children[0].children] == ["cse", "func.func(canonicalize)"]
    assert outer.seconds >= outer.children[0].seconds >= sum(c.seconds for c in outer.children[0].children) > 0


def test_timing_render() -> None:
    timing = PassTimingInstrument()
    assert timing.render() == ""
    with PassContext(instruments=[timing]):
        MLIRPass("cse")(parse())
    lines = timing.render().splitlines()
    assert lines[0].split() == ["ms", "%", "pass"]
    assert lines[1].split()[1:] == ["100.0", "cse"]
    assert lines[2].split()[1:] == ["100.0", "total"]


def test_timing_of_a_pass_that_fails() -> None:
    timing = PassTimingInstrument()
    with pytest.raises(PassError), PassContext(instruments=[timing]):
        Sequential([failing])(parse())
    assert "sequential  (did not finish)" in timing.render()
    with PassContext(instruments=[timing]):
        MLIRPass("cse")(parse())
    assert [entry.name for entry in timing.passes] == ["cse"]


def test_print_before_and_after_by_name() -> None:
    stream = io.StringIO()
    instruments = [PrintBefore(["cse"], stream), PrintAfter(["symbol-dce"], stream)]
    with PassContext(instruments=instruments):
        MLIRPass("canonicalize,cse,symbol-dce")(parse())
    headers = [line for line in stream.getvalue().splitlines() if line.startswith("//")]
    assert headers == [
        "// -----// IR Dump Before cse //----- //",
        "// -----// IR Dump After symbol-dce //----- //",
    ]


def test_print_after_change_only() -> None:
    stream = io.StringIO()
    with PassContext(instruments=[PrintAfter(stream=stream, on_change=True)]):
        MLIRPass("symbol-dce,cse,canonicalize")(parse())
    assert stream.getvalue().count("IR Dump") == 1
    assert "IR Dump After cse" in stream.getvalue()


def test_stages_are_numbered_files(tmp_path: Path) -> None:
    stages = DumpStages(tmp_path / "stages")
    with PassContext(instruments=[stages]):
        Sequential([MLIRPass("cse,func.func(canonicalize)")])(parse())
    names = ["000-input.mlir", "001-cse.mlir", "002-canonicalize.mlir"]
    assert sorted(path.name for path in (tmp_path / "stages").iterdir()) == names
    counts = [path.read_text().count("addi") for path in stages.files]
    assert counts == [2, 1, 1]


def test_statistics_count_ops() -> None:
    statistics = PassStatistics()
    with PassContext(instruments=[statistics]):
        MLIRPass("cse,canonicalize")(parse())
    assert [(c.name, c.before, c.after) for c in statistics.counts] == [("cse", 6, 5), ("canonicalize", 5, 5)]
    assert "-1  cse" in statistics.render()


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A replacement of `relax_mlir.analysis.well_formed`, which reports `found`."""
    fake = types.SimpleNamespace(found=[], calls=0)

    def check(module: ir.Module) -> list[Diagnostic]:
        fake.calls += 1
        return list(fake.found)

    fake.check = check
    monkeypatch.setattr(instruments, "well_formed", fake)
    return fake


def test_well_formed_checks_input_and_each_pass(checker: types.SimpleNamespace) -> None:
    with PassContext(instruments=[WellFormed()]):
        MLIRPass("cse,canonicalize")(parse())
    assert checker.calls == 3


def test_well_formed_names_the_pass_that_broke_it(checker: types.SimpleNamespace) -> None:
    @module_pass(name="spoil")
    def spoil(module: ir.Module, ctx: PassContext) -> None:
        checker.found = [Diagnostic("error", "a.py:1:2", "invariant 7")]

    with (
        pytest.raises(PassError, match=r"(?s)pass 'spoil' failed: it left .* a\.py:1:2: error: invariant 7"),
        PassContext(instruments=[WellFormed()]),
    ):
        Sequential([MLIRPass("cse"), spoil])(parse())


def test_decorated_class_is_an_instrument() -> None:
    @pass_instrument
    class Names:
        def __init__(self) -> None:
            self.names: list[str] = []

        def run_before_pass(self, module: ir.Module, info: PassInfo) -> None:
            self.names.append(info.name)

    names = Names()
    assert isinstance(names, PassInstrument)
    with PassContext(instruments=[names]):
        MLIRPass("cse")(parse())
    assert names.names == ["cse"]
