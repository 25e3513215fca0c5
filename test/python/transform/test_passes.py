"""The kinds of pass, the decorators, and the state after a failing pass."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from unittest import TestCase

import pytest
from pass_helpers import failing_pass, parse
from relax_mlir.error import ArgumentError, ParseError, PassError, UnsupportedError, VerifyError
from relax_mlir.mlir import func, ir
from relax_mlir.transform import (
    FunctionPass,
    MLIRPass,
    ModulePass,
    PassContext,
    dataflowblock_pass,
    function_pass,
    module_pass,
    prim_func_pass,
)
from relax_mlir.transform.pipeline import parse_pipeline
from relax_mlir.transform.run import Recipe, read_recipe

FUNCTIONS = """
func.func private @declared(i32) -> i32
func.func @main() { return }
func.func @skipped() attributes {SkipOptimization = 1 : i64} { return }
func.func private @prim() attributes {relax.prim_func} { return }
func.func private @kept() attributes {relax.prim_func, relax.prim_attrs = {SkipOptimization = 1 : i64}} { return }
func.func @other() attributes {SkipOptimization = 0 : i64} { return }
"""

BLOCKS = """
func.func @main() {
  "relax.dataflow"() ({ "relax.output"() : () -> () }) {id = 0} : () -> ()
  %c = arith.constant true
  scf.if %c { "relax.dataflow"() ({ "relax.output"() : () -> () }) {id = 1} : () -> () }
  return
}
func.func @skipped() attributes {SkipOptimization = true} {
  "relax.dataflow"() ({ "relax.output"() : () -> () }) {id = 2} : () -> ()
  return
}
"""


@dataclass(frozen=True)
class Rename(ModulePass):
    """Give every function a prefix."""

    name: ClassVar[str] = "test-rename"
    prefix: str = "x"
    depth: int = 1

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in module.body.operations:
            function.attributes["sym_name"] = ir.StringAttr.get(self.prefix + function.name.value)


def test_a_call_gives_a_new_module_and_apply_changes_one() -> None:
    module = parse()
    renamed = Rename(prefix="pre_")(module)
    assert "@pre_main" in str(renamed) and "@main" in str(module)
    assert Rename(prefix="pre_").apply_(module) is module
    assert str(module) == str(renamed)


def test_info_shows_options_that_differ_from_defaults() -> None:
    assert Rename().info.text == "test-rename"
    assert Rename(prefix="y", depth=2).info.text == "test-rename{prefix=y depth=2}"


def test_function_pass_sees_relax_functions_only() -> None:
    seen: list[str] = []

    @function_pass(name="see")
    def see(function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        seen.append(function.name.value)

    see(parse(FUNCTIONS, unregistered=True))
    assert seen == ["main", "other"]


def test_prim_func_pass_sees_prim_funcs_only() -> None:
    seen: list[str] = []

    @prim_func_pass(name="see")
    def see(function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        seen.append(function.name.value)

    see(parse(FUNCTIONS, unregistered=True))
    assert seen == ["prim"]


def test_dataflow_block_pass_sees_each_block() -> None:
    seen: list[int] = []

    @dataflowblock_pass(name="see")
    def see(block: ir.Operation, module: ir.Module, ctx: PassContext) -> None:
        seen.append(block.attributes["id"].value)

    see(parse(BLOCKS, unregistered=True))
    assert seen == [0, 1]


def test_decorator_on_a_function_gives_a_pass() -> None:
    @module_pass(opt_level=1, required=["cse"])
    def work(module: ir.Module, ctx: PassContext) -> None:
        """Do nothing."""

    assert isinstance(work, ModulePass)
    assert (work.info.name, work.info.opt_level, work.info.required) == ("work", 1, ("cse",))


def test_decorator_on_a_class_gives_a_pass_class() -> None:
    @function_pass(name="noter")
    class Noter:
        def __init__(self, suffix: str) -> None:
            self.suffix = suffix

        def transform_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
            function.attributes["relax.note"] = ir.StringAttr.get(function.name.value + self.suffix)

    assert issubclass(Noter, FunctionPass)
    assert 'relax.note = "main_x"' in str(Noter("_x")(parse()))


def test_decorator_on_a_class_without_the_method() -> None:
    with pytest.raises(ArgumentError, match="class Empty has no method transform_module"):

        @module_pass
        class Empty:
            pass


def test_failure_restores_the_module() -> None:
    module = parse("module @m attributes {a.b = 1 : i32} { func.func @f() { return } }", unregistered=True)
    before = str(module)

    @module_pass(name="mess")
    def mess(module: ir.Module, ctx: PassContext) -> None:
        del module.operation.attributes["a.b"]
        module.operation.attributes["c.d"] = ir.UnitAttr.get()
        module.body.operations[0].operation.erase()
        raise UnsupportedError("no")

    for run in (mess.apply_, mess):
        with pytest.raises(UnsupportedError):
            run(module)
        assert str(module) == before


@pytest.mark.parametrize("count", [17, 64, 5000])
def test_failure_restores_elements_of_constants(count: int) -> None:
    """Including elements that printed modules omit, and locations."""
    old, new = (f"dense<[{', '.join(['1'] * (count - 1))}, {last}]> : tensor<{count}xi32>" for last in ("2", "3"))
    module = parse(f'module {{ func.func private @f() attributes {{a = {old}}} loc("x") }}')

    @module_pass(name="mess")
    def mess(module: ir.Module, ctx: PassContext) -> None:
        module.body.operations[0].attributes["a"] = ir.Attribute.parse(new)
        raise UnsupportedError("no")

    @module_pass(name="move")
    def move(module: ir.Module, ctx: PassContext) -> None:
        module.body.operations[0].operation.location = ir.Location.name("y")
        raise UnsupportedError("no")

    for broken in (mess, move):
        with pytest.raises(UnsupportedError):
            broken(module)
        function = module.body.operations[0]
        assert function.attributes["a"] == ir.Attribute.parse(old, module.context)
        assert "x" in str(function.location)


def test_failure_later_in_a_sequence_restores_the_first_input() -> None:
    from relax_mlir.transform import Sequential

    module = parse()
    before = str(module)
    with pytest.raises(PassError):
        Sequential([MLIRPass("cse"), failing_pass(lambda: ValueError("x"))]).apply_(module)
    assert str(module) == before


def test_project_error_keeps_its_type_and_names_the_pass() -> None:
    with pytest.raises(UnsupportedError, match="in pass 'failing'") as caught:
        failing_pass(lambda: UnsupportedError("cannot"))(parse())
    assert caught.value.pass_name == "failing"


def test_other_exception_becomes_a_pass_error() -> None:
    with pytest.raises(PassError, match="internal error: KeyError: 'k'") as caught:
        failing_pass(lambda: KeyError("k"))(parse())
    assert isinstance(caught.value.__cause__, KeyError)


def test_pass_that_leaves_invalid_ir() -> None:
    @module_pass(name="break")
    def break_it(module: ir.Module, ctx: PassContext) -> None:
        function = module.body.operations[0]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))

    module = parse()
    before = str(module)
    with pytest.raises(PassError, match="pass 'break' failed") as caught:
        break_it(module)
    assert [d.severity for d in caught.value.diagnostics if d.severity == "error"]
    assert str(module) == before


def test_invalid_input_is_reported_before_the_pass() -> None:
    module = parse()
    function = module.body.operations[0]
    with module.context:
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))
    with pytest.raises(VerifyError, match="before the first pass"):
        Rename().apply_(module)


def test_verify_each_can_be_switched_off() -> None:
    module = parse()
    function = module.body.operations[0]
    with module.context:
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))
    with PassContext(config={"pass.verify_each": False}):
        Rename().apply_(module)


UNBUFFERISABLE = """
func.func @f(%t: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.op"(%t) : (tensor<4xf32>) -> tensor<4xf32> loc("user.py":3:5)
  return %0 : tensor<4xf32>
}
"""


def test_failing_upstream_pass_carries_located_diagnostics(capfd: pytest.CaptureFixture[str]) -> None:
    module = parse(UNBUFFERISABLE, unregistered=True)
    before = str(module)
    with pytest.raises(PassError) as caught:
        MLIRPass("one-shot-bufferize").apply_(module)
    assert caught.value.pass_name == "one-shot-bufferize"
    assert "op was not bufferized" in str(caught.value)
    assert caught.value.diagnostics[0].location == "user.py:3:5"
    assert str(module) == before
    assert capfd.readouterr() == ("", "")


def test_dump_and_reproducer(tmp_path: Path) -> None:
    module = parse(UNBUFFERISABLE, unregistered=True)
    with (
        pytest.raises(PassError) as caught,
        PassContext(config={"pass.dump_dir": str(tmp_path)}),
    ):
        MLIRPass("cse,one-shot-bufferize{bufferize-function-boundaries=true}").apply_(module)
    dump = caught.value.dump
    assert dump is not None and "test.op" in dump.read_text()
    assert 'pipeline: "builtin.module(one-shot-bufferize{bufferize-function-boundaries=true})"' in dump.read_text()
    assert caught.value.reproducer == f"relax-opt --run-reproducer {dump}"
    assert str(dump) in str(caught.value)


def test_dump_directory_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_DUMP_DIR", str(tmp_path))
    with pytest.raises(PassError) as caught:
        failing_pass(lambda: ValueError("x"))(parse())
    assert caught.value.dump == tmp_path / "failed-failing-0.mlir"
    assert caught.value.reproducer is None


def test_without_dump_directory_the_whole_run_can_be_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module = parse(UNBUFFERISABLE, unregistered=True)
    before = str(module)
    for _ in range(2):
        with pytest.raises(PassError) as caught:
            MLIRPass("cse,one-shot-bufferize").apply_(module)
    dump = caught.value.dump
    assert list(tmp_path.rglob("*.mlir")) == [dump]
    assert dump is not None and str(dump) in str(caught.value)
    recipe, text = read_recipe(dump.read_text(), "x.mlir")
    assert recipe == Recipe("builtin.module(cse,one-shot-bufferize)", unregistered=True)
    again = parse(text, unregistered=True)
    assert str(again) == before
    with pytest.raises(PassError, match="op was not bufferized"):
        parse_pipeline(recipe.pipeline).apply_(again)


def test_reproducers_hold_the_options_of_the_context(tmp_path: Path) -> None:
    @module_pass(name="see")
    def unregistered(mod: object, ctx: PassContext) -> None:
        """A pass that does not exist when the reproducer is replayed."""

    config = {"pass.dump_dir": str(tmp_path), "pass.verify_each": False}
    ctx = PassContext(3, required_pass=["cse"], disabled_pass=["FuseOps", "see", "sccp"], config=config)
    with ctx, pytest.raises(PassError) as caught:
        failing_pass(lambda: ValueError("x"))(parse())
    assert caught.value.dump is not None
    recipe, _ = read_recipe(caught.value.dump.read_text(), "x.mlir")
    assert recipe == Recipe(
        "builtin.module(failing)", False, 3, ("fuse-ops", "sccp"), ("cse",), {"pass.verify_each": False}
    )


def test_no_reproducers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_REPRODUCERS", "0")
    with pytest.raises(PassError) as caught:
        failing_pass(lambda: ValueError("x"))(parse())
    assert caught.value.dump is None
    message, place, *frame = str(caught.value).split("\n")
    assert message == "pass 'failing' failed: internal error: ValueError: x"
    assert re.fullmatch(r"  .*/pass_helpers\.py:\d+:0: here", place)
    assert len(frame) == 2 and "raise error()" in frame[0] and set(frame[1]) == {" ", "|", "^"}


def test_a_text_that_is_no_reproducer() -> None:
    with pytest.raises(ParseError, match=r"'a\.mlir' is no reproducer"):
        read_recipe("module {}", "a.mlir")


def test_the_place_of_a_failure_is_underlined(tmp_path: Path) -> None:
    source = tmp_path / "user.py"
    source.write_text("x = 1\ny = add(f(x), 2) + 3\n")

    @module_pass(name="located")
    def located(module: ir.Module, ctx: PassContext) -> None:
        raise UnsupportedError(f"{source}:2:5: add: no")

    with pytest.raises(UnsupportedError) as caught:
        located(parse())
    assert str(caught.value).split("\n")[1:3] == [
        "    2 | y = add(f(x), 2) + 3",
        "      |     ^^^^^^^^^^^^^^^^",
    ]


def test_warnings_are_logged_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    @module_pass(name="warn")
    def warn(module: ir.Module, ctx: PassContext) -> None:
        ir.Location.file("a.py", 1, 2).emit_error("look here")

    with TestCase().assertLogs("relax_mlir", "WARNING") as logs:
        warn(parse())
    assert any("a.py:1:2: error: look here" in text for text in logs.output)
    assert capfd.readouterr() == ("", "")
