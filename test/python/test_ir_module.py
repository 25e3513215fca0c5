"""`IRModule`: reading text and files, looking functions up, copying."""

import os
import signal
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ParseError, UnknownNameError
from relax_mlir.fork_safety import crash_of

TEXT = """
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}
"""
CRASHES_THE_PARSER = """
func.func @f(%x: tensor<4xf32>, %o: tensor<f32>) -> tensor<f32> {
  %r = linalg.reduce { arith.addf } ins(%x : tensor<4xf32>) outs(%o : tensor<f32>) dimensions = unit1]
  return %r : tensor<f32>
}
"""


def test_parse_and_look_up() -> None:
    mod = rx.IRModule.parse(TEXT)
    assert mod["main"].name.value == "main"
    assert [f.name.value for f in mod.functions()] == ["main"]
    with pytest.raises(UnknownNameError, match="did you mean 'main'"):
        mod["mian"]


def test_names_of_functions() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor((2,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    module = bb.get()
    assert list(module) == ["main"]
    assert "main" in module and "other" not in module and 0 not in module


def test_bad_text_is_an_error_with_its_place() -> None:
    with pytest.raises(ParseError, match=r"model.mlir: not a valid module\n  model.mlir:2:\d+: error"):
        rx.IRModule.parse("\nfunc.func @main(", name="model.mlir")


def test_text_on_which_mlir_crashes_is_an_error_too() -> None:
    with pytest.raises(ParseError, match="not a valid module"):
        rx.IRModule.parse(CRASHES_THE_PARSER)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    with pytest.raises(ParseError, match=r"cannot read .*model\.mlir: .*No such file"):
        rx.IRModule.read(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ParseError, match="cannot read"):
        rx.IRModule.read(path)
    path.write_text(TEXT)
    read = rx.IRModule.read(path, trusted=True)
    assert_structural_equal(read, rx.IRModule.parse(TEXT))
    assert "model.mlir:2:1" in str(read["main"].location).replace('"', "")
    path.write_text("func.func @main(")
    with pytest.raises(ParseError, match=r"model\.mlir: not a valid module\n.*model\.mlir:1:\d+: error"):
        rx.IRModule.read(path)


def test_a_clone_is_equal_and_apart() -> None:
    mod = rx.IRModule.parse(TEXT)
    copy = mod.clone()
    assert_structural_equal(mod, copy)
    copy["main"].operation.erase()
    assert mod["main"] is not None


def test_crashes_are_told_by_their_signal() -> None:
    assert crash_of(lambda: None) is None
    assert crash_of(lambda: 1 / 0) is None
    assert crash_of(lambda: os.kill(os.getpid(), signal.SIGSEGV)) == "SIGSEGV"


def test_diagnostics_that_are_no_utf8_are_an_error_too() -> None:
    with pytest.raises(ParseError, match="no valid UTF-8"):
        rx.IRModule.parse('func.func @"\\FF"() { return }\nfunc.func @"\\FF"() { return }')
