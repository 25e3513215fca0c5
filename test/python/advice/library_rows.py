"""Patterns and third-party libraries in programs: what is refused, and the replacements."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Row, Rows, same
from programs import numpy
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


def result(built: rx.IRModule, given: np.ndarray = X) -> Any:
    return numpy(rx.build(built)["main"](given))


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


def compared(make: Callable[[], rx.IRModule]) -> Callable[[], None]:
    return lambda: same(result(make()), np.exp(X))


def checked() -> rx.IRModule:
    """The pattern excludes what the code generator refuses."""
    pattern = (*EXP, {}, lambda found: False)
    return generated(refused, T.FuseOpsByPattern([pattern], annotate_codegen=True)(exp()))


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


def merged() -> rx.IRModule:
    return generated(again, T.Sequential([T.FuseOpsByPattern([EXP]), T.MergeCompositeFunctions()])(exp()))


def warned() -> rx.IRModule:
    found = T.DiagnosticContext()
    with T.PassContext(diag_ctx=found):
        made = T.Sequential([T.FuseOpsByPattern([EXP]), T.RunCodegen()])(exp())
    for diagnostic in found.of_severity("warning"):
        raise RelaxError(diagnostic.message)
    return made


def packed(pure: bool) -> rx.IRModule:
    def body(bb: Any, x: Any) -> Any:
        builder = op.call_pure_packed if pure else op.call_packed
        return op.match_shape(builder("advice.library.exp", x, out=VECTOR), ("n",))

    import tvm_ffi

    tvm_ffi.register_global_func(
        "advice.library.exp", lambda x: tvm_ffi.from_dlpack(np.exp(np.from_dlpack(x))), True
    )
    return T.FuseOpsByPattern([("lib.exp", dpl.is_call_packed("advice.library.exp"))])(module(body))


def with_effects(region: T.CodegenRegion) -> Any:
    op.call_packed("advice.library.exp", region.params[0])
    return op.exp(region.params[0])


def filled(region: T.CodegenRegion) -> Any:
    import tvm_ffi

    def fill(x: Any, out: Any) -> None:
        np.from_dlpack(out)[:] = np.exp(np.from_dlpack(x))

    tvm_ffi.register_global_func("advice.library.fill", fill, True)
    return op.call_dps_packed("advice.library.fill", (region.params[0],), VECTOR)


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


def by_library() -> None:
    made = openblas.use_openblas(module(lambda bb, x: bb.emit(op.matmul(x, x), "out"), MATRIX))
    same(result(made, M), M @ M)


def block(built: rx.IRModule) -> Any:
    return built["main"].body.blocks[0]


def matched(pattern: dpl.DFPattern, value: Any) -> None:
    assert pattern.match(value)


def context(inside: bool) -> dpl.PatternContext:
    pattern = call("exp")
    with dpl.PatternContext() as ctx:
        if inside:
            pattern = call("exp")
        else:
            dpl.wildcard()
    assert pattern is not None
    return ctx


def found_in_context(given: Any) -> None:
    assert context(inside=True).match_dfb(given) is not None


def nested(depth: int) -> dpl.DFPattern:
    pattern: dpl.DFPattern = call("exp")
    for _ in range(depth):
        pattern = ~pattern
    return pattern


def rewritten(rewriter: Callable[[Any, Any], Any]) -> rx.IRModule:
    made = exp()
    made["main"] = dpl.rewrite_call(call("exp"), rewriter, made["main"])
    return made


def in_a_context() -> None:
    with dpl.PatternContext() as ctx:
        call("negative") ^ call("exp")
    built = module(lambda bb, x: bb.emit(op.exp(bb.emit(op.negative(x))), "out"))
    assert ctx.match_dfb(block(built)) is not None


def registered(override: bool) -> rx.IRModule:
    register_codegen("lib", refused)
    try:
        register_codegen("lib", again, override=override)
        return T.RunCodegen()(T.FuseOpsByPattern([EXP], annotate_codegen=True)(exp()))
    finally:
        unregister_codegen("lib")


def unregistered() -> Any:
    from relax_mlir.lazy import how_to_register

    raise RelaxError(f"x is not registered; {how_to_register(openblas.FUNCTION)}")


CONCAT = module(lambda bb, x: bb.emit(op.concat((x, op.exp(x))), "out"))

TABLE = Rows(
    {
        "refused": Row(lambda: generated(refused), "give the pattern a check", compared(checked)),
        "no-composite": Row(
            lambda: generated(again, marked_by_hand()), "run fuse-ops-by-pattern", compared(merged)
        ),
        "no-codegen": Row(warned, "run merge-composite-functions first", compared(merged)),
        "effects": Row(
            lambda: packed(pure=False), "call it by call_pure_packed", compared(lambda: packed(pure=True))
        ),
        "codegen-effects": Row(
            lambda: generated(with_effects), "call packed functions by", compared(lambda: generated(filled))
        ),
        "entry-function": Row(
            lambda: T.FuseOpsByPattern([EXP], entry_functions=["f"])(exp()),
            "the module has main",
            compared(lambda: T.FuseOpsByPattern([EXP], entry_functions=["main"])(exp())),
        ),
        "rows-apart": Row(
            lambda: _multiplied_or_error(np.zeros((3, 6), "f4")[:, ::2]),
            "give a contiguous tensor",
            lambda: multiplied(np.ascontiguousarray(np.arange(18, dtype="f4").reshape(3, 6)[:, ::2])),
        ),
        "not-installed": Row(without_library, "pip install relax-mlir", by_library),
        "other-library": Row(
            lambda: openblas._symbol(ctypes.CDLL(None), "scipy_cblas_sgemm64_x"),
            "install that anew",
            by_library,
        ),
        "not-registered": Row(unregistered, r"openblas.load\(\) registers it", by_library),
        "operands": Row(
            lambda: dpl.is_op("relax.concat")(dpl.wildcard(), dpl.wildcard()),
            "a list of values is one",
            lambda: matched(
                dpl.is_op("relax.concat")(dpl.is_tuple([dpl.wildcard(), call("exp")])),
                block(CONCAT).bindings[-1],
            ),
        ),
        "no-pattern": Row(
            lambda: T.FuseOpsByPattern([call("exp")]),
            "annotation_patterns, check",
            compared(lambda: T.FuseOpsByPattern([EXP])(exp())),
        ),
        "no-value": Row(
            lambda: call("exp").match(X),  # type: ignore[arg-type]  # on purpose
            "take one of",
            lambda: matched(call("exp"), block(exp()).bindings[0].var),
        ),
        "deep": Row(
            lambda: nested(300).match(block(exp()).bindings[0].var),
            "name the parts",
            lambda: matched(nested(100), block(exp()).bindings[0].var),
        ),
        "no-block": Row(
            lambda: context(inside=True).match_dfb(rx.BindingBlock([])),
            "take one of",
            lambda: found_in_context(block(exp())),
        ),
        "nothing-to-look-for": Row(
            lambda: context(inside=False).match_dfb(block(exp())),
            "make patterns of calls inside",
            lambda: found_in_context(block(exp())),
        ),
        "rewriter": Row(
            lambda: rewritten(lambda made, found: None),
            "give the call",
            compared(lambda: rewritten(lambda made, found: made)),
        ),
        "no-context": Row(lambda: call("negative") ^ call("exp"), "write it inside", in_a_context),
        "registered": Row(
            lambda: registered(override=False),
            "override=True replaces it",
            compared(lambda: registered(override=True)),
        ),
    }
)


def _multiplied_or_error(a: np.ndarray) -> Any:
    try:
        return multiplied(a)
    except Exception as error:  # the FFI has its own error classes
        raise RelaxError(str(error)) from None
