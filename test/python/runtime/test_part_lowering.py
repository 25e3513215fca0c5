"""The context that threads share for lowering units: no dialects are loaded into it later."""

from __future__ import annotations

import ctypes
import gc

import pytest
from relax_mlir import capi
from relax_mlir.capi import PART_DIALECTS, spare_context
from relax_mlir.error import CompileError
from relax_mlir.lowering.base.module_parts import Part
from relax_mlir.lowering.legality import LEVELS
from relax_mlir.runtime.compile_units import lowered_part

CODE = """
func.func @f(%m: memref<?xf32>, %n: index) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> f32 {
    %x = memref.load %m[%i] : memref<?xf32>
    %y = math.exp %x : f32
    %t = arith.addf %s, %y : f32
    scf.yield %t : f32
  }
  return %sum : f32
}"""


def loaded() -> int:
    """The number of dialects in the context."""
    count = capi.library().mlirContextGetNumLoadedDialects
    count.restype, count.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    return int(count(capi.pointer(spare_context())))


@pytest.mark.parametrize("all_vectors", [False, True])
def test_passes_load_no_dialect(all_vectors: bool) -> None:
    """Other threads may be using the context."""
    before = loaded()
    part = Part(CODE.encode(), ("f",), (), (), None, 10, False, all_vectors, False)
    module = lowered_part(part, low_precision=True)
    assert module.context == spare_context()
    assert "llvm.func internal @__body.f" in str(module)
    assert loaded() == before


def test_without_math_its_conversions_change_nothing() -> None:
    code = CODE.replace("math.exp %x", "arith.negf %x").encode()
    texts = {
        str(lowered_part(Part(code, ("f",), (), (), None, 10, False, False, False, has_math=each), False))
        for each in (True, False)
    }
    assert len(texts) == 1
    assert "math." not in texts.pop()


@pytest.mark.parametrize("level", ["kernels", "flat", "llvm"])
def test_parts_may_hold_what_their_levels_allow(level: str) -> None:
    allowed = {name.partition(".")[0] for name in LEVELS[level].allowed}
    assert allowed <= PART_DIALECTS


def test_what_is_no_module_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CompileError, match="cannot be parsed"):
        capi.parse_module(b"func.func", spare_context())
    assert "error" in capfd.readouterr().err


def test_a_pass_that_is_not_there_is_an_error() -> None:
    with pytest.raises(CompileError, match="'no-such-pass' does not refer to a registered pass"):
        capi.PassPipeline("canonicalize,no-such-pass", spare_context())


def test_the_context_has_all_dialects_of_parts() -> None:
    before = loaded()
    load = ctypes.CDLL(str(capi.library_path())).mlirContextGetOrLoadDialect
    load.restype, load.argtypes = ctypes.c_void_p, [ctypes.c_void_p, capi.Text]
    for name in (*PART_DIALECTS, "dlti", "tensor"):
        assert load(capi.pointer(spare_context()), capi.text(name)), name
    assert loaded() == before


def test_modules_live_as_long_as_python_refers_to_them() -> None:
    module = capi.parse_module(CODE.encode(), spare_context())
    operation = module.operation
    del module
    gc.collect()
    assert "math.exp" in str(operation)
