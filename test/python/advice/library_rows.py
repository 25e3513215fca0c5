"""Patterns and third-party libraries in programs: what is refused, and the replacements."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Rows, same
from relax_mlir import dpl, op
from relax_mlir import transform as T
from relax_mlir.contrib import openblas
from relax_mlir.error import RelaxError
from relax_mlir.transform.codegens import register_codegen, unregister_codegen

VECTOR, MATRIX = rx.Tensor(("n",), "float32"), rx.Tensor(("n", "n"), "float32")
X = np.linspace(-1, 1, 5, dtype="f4")
M = np.arange(9, dtype="f4").reshape(3, 3)


def module(body: Callable[[Any, Any], Any], info: rx.Tensor = VECTOR) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", info)
    with bb.function("main", [x]):
        bb.emit_func_output(body(bb, x))
    return bb.get()


def exp() -> rx.IRModule:
    return module(lambda bb, x: bb.emit(op.exp(x), "out"))


def call(name: str) -> dpl.DFPattern:
    return dpl.is_op(f"relax.{name}")(dpl.wildcard())


EXP = ("lib.exp", call("exp"))


def generated(codegen: Any, built: rx.IRModule | None = None) -> rx.IRModule:
    """`built` with its functions of the library "lib" replaced."""
    made = T.FuseOpsByPattern([EXP], annotate_codegen=True)(exp()) if built is None else built
    register_codegen("lib", codegen, override=True)
    try:
        return T.RunCodegen()(made)
    finally:
        unregister_codegen("lib")


def again(region: T.CodegenRegion) -> Any:
    return region.each(lambda made: op.exp(made.args[0]))


def refused(region: T.CodegenRegion) -> Any:
    def rule(made: T.CompositeCall) -> Any:
        raise made.refuse("of the advice")

    return region.each(rule)


def marked_by_hand() -> rx.IRModule:
    text = """
func.func @main(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call"(%0) {callee = @f} : (tuple<!n>) -> !n
  return %1 : !n
}
func.func private @f(%x: !n {relax.name = "x"}) -> !n attributes {relax.codegen = "lib"} {
  %0 = "relax.exp"(%x) : (!n) -> !n
  return %0 : !n
}"""
    return rx.IRModule.parse(text.replace("!n", 'tensor<?xf32, #relax.shape<["n"]>>'))


def warned() -> rx.IRModule:
    found = T.DiagnosticContext()
    with T.PassContext(diag_ctx=found):
        made = T.Sequential([T.FuseOpsByPattern([EXP]), T.RunCodegen()])(exp())
    for diagnostic in found.of_severity("warning"):
        raise RelaxError(diagnostic.message)
    return made


def packed() -> rx.IRModule:

    def body(bb: Any, x: Any) -> Any:
        builder = op.call_packed
        return op.match_shape(builder("advice.library.exp", x, out=VECTOR), ("n",))

    import tvm_ffi

    tvm_ffi.register_global_func("advice.library.exp", lambda x: tvm_ffi.from_dlpack(np.exp(np.from_dlpack(x))), True)
    return T.FuseOpsByPattern([("lib.exp", dpl.is_call_packed("advice.library.exp"))])(module(body))


def with_effects(region: T.CodegenRegion) -> Any:
    op.call_packed("advice.library.exp", region.params[0])
    return op.exp(region.params[0])


def multiplied(a: np.ndarray) -> None:
    out = np.zeros((3, 3), "f4")
    openblas.load()(a, M, False, False, 0, out)
    same(out, a @ M)


def without_library() -> Any:
    kept = sys.modules.get("scipy_openblas64")
    sys.modules["scipy_openblas64"] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        return openblas._library()
    finally:
        if kept is None:
            del sys.modules["scipy_openblas64"]
        else:
            sys.modules["scipy_openblas64"] = kept


def block(built: rx.IRModule) -> Any:
    return built["main"].body.blocks[0]


def context(inside: bool) -> dpl.PatternContext:
    pattern = call("exp")
    with dpl.PatternContext() as ctx:
        if inside:
            pattern = call("exp")
        else:
            dpl.wildcard()
    assert pattern is not None
    return ctx


def nested(depth: int) -> dpl.DFPattern:
    pattern: dpl.DFPattern = call("exp")
    for _ in range(depth):
        pattern = ~pattern
    return pattern


def rewritten(rewriter: Callable[[Any, Any], Any]) -> rx.IRModule:
    made = exp()
    made["main"] = dpl.rewrite_call(call("exp"), rewriter, made["main"])
    return made


def registered() -> rx.IRModule:
    register_codegen("lib", refused)
    try:
        register_codegen("lib", again, override=False)
        return T.RunCodegen()(T.FuseOpsByPattern([EXP], annotate_codegen=True)(exp()))
    finally:
        unregister_codegen("lib")


def unregistered() -> Any:
    from relax_mlir.lazy import how_to_register

    raise RelaxError(f"x is not registered; {how_to_register(openblas.FUNCTION)}")


TABLE = Rows(
    {
        "refused": (lambda: generated(refused), "give the pattern a check"),
        "no-composite": (lambda: generated(again, marked_by_hand()), "run fuse-ops-by-pattern"),
        "no-codegen": (warned, "run merge-composite-functions first"),
        "effects": (packed, "call it by call_pure_packed"),
        "codegen-effects": (lambda: generated(with_effects), "call packed functions by"),
        "entry-function": (
            lambda: T.FuseOpsByPattern([EXP], entry_functions=["f"])(exp()),
            "the module has main",
        ),
        "rows-apart": (
            lambda: _multiplied_or_error(np.zeros((3, 6), "f4")[:, ::2]),
            "give a contiguous tensor",
        ),
        "not-installed": (without_library, "pip install relax-mlir"),
        "other-library": (
            lambda: openblas._symbol(ctypes.CDLL(None), "scipy_cblas_sgemm64_x"),
            "install that anew",
        ),
        "not-registered": (unregistered, r"openblas.load\(\) registers it"),
        "operands": (
            lambda: dpl.is_op("relax.concat")(dpl.wildcard(), dpl.wildcard()),
            "a list of values is one",
        ),
        "no-pattern": (lambda: T.FuseOpsByPattern([call("exp")]), "annotation_patterns, check"),
        "no-value": (lambda: call("exp").match(X), "take one of"),
        "deep": (lambda: nested(300).match(block(exp()).bindings[0].var), "name the parts"),
        "no-block": (lambda: context(inside=True).match_dfb(rx.BindingBlock([])), "take one of"),
        "nothing-to-look-for": (
            lambda: context(inside=False).match_dfb(block(exp())),
            "make patterns of calls inside",
        ),
        "rewriter": (lambda: rewritten(lambda made, found: None), "give the call"),
        "no-context": (lambda: call("negative") ^ call("exp"), "write it inside"),
        "registered": (registered, "override=True replaces it"),
    }
)


def _multiplied_or_error(a: np.ndarray) -> Any:
    try:
        return multiplied(a)
    except Exception as error:  # the FFI has its own error classes
        raise RelaxError(str(error)) from None
