"""Claims of prim funcs: `relax.kernel` and similar attributes are trusted only on bodies of the lowering itself."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.attributes import ARG_REDUCE, KERNEL, KERNEL_SEAL
from relax_mlir.error import VerifyError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.mlir import func
from relax_mlir.script import parse
from relax_mlir.transform import parse_pipeline

DOUBLING = """
func.func private @f(%x: tensor<2x8xf32>, %o: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {{
  relax.prim_func {of_func}
}} {{
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%x : tensor<2x8xf32>) outs(%o : tensor<2x8xf32>) {of_op} {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  }} -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}}
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {{
  %t = builtin.unrealized_conversion_cast %x : tensor<2x8xf32> to tuple<tensor<2x8xf32>>
  %y = "relax.call_tir"(%t) {{callee = @f, tir_vars = []}} : (tuple<tensor<2x8xf32>>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}}
"""
X = np.linspace(-2, 3, 16, dtype=np.float32).reshape(2, 8)
LEAVE_OUT = "which legalize-ops makes: leave it out"
OF_LOWERING = "which the lowering makes: leave it out"
REFUSED = [
    (', relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}', "", LEAVE_OUT),
    (', relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}', "", LEAVE_OUT),
    (', relax.kernel = "no kernel"', "", LEAVE_OUT),
    (", relax.kernel = 3", "", LEAVE_OUT),
    (", relax.kernel_attrs = {}", "", LEAVE_OUT),
    (", relax.kernel_inputs = array<i64: 7>", "", LEAVE_OUT),
    ("", 'attrs = {relax.arg_reduce = "max"}', LEAVE_OUT),
    ("", "attrs = {relax.prologue}", LEAVE_OUT),
    ("", "attrs = {relax.epilogue}", LEAVE_OUT),
    ("", "attrs = {relax.parallel}", OF_LOWERING),
    ("", "attrs = {relax.next_row}", OF_LOWERING),
    ("", "attrs = {relax.vectors_per_body = 4 : i64}", OF_LOWERING),
    ("", "attrs = {llvm.loop_annotation = 1}", OF_LOWERING),
    (', passthrough = ["noreturn"]', "", "invariant 15"),
    (", noreturn", "", "invariant 15"),
    (', target_cpu = "i386"', "", "invariant 15"),
]


@pytest.mark.parametrize(("of_func", "of_op", "message"), REFUSED)
def test_claims_of_users_are_refused(of_func: str, of_op: str, message: str) -> None:
    module = rx.IRModule.parse(DOUBLING.format(of_func=of_func, of_op=of_op))
    with pytest.raises(VerifyError, match=message) as raised:
        rx.build(module)
    assert "-:2:1" in str(raised.value) or "-:5:8" in str(raised.value)


@pytest.mark.parametrize(
    "of_func",
    [
        ', relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}, relax.kernel_seal = "0123456789abcdef"',
        ', relax.kernel = "softmax", relax.kernel_seal = 3',
        ", relax.unchecked = 3",
        ', relax.pattern = "reduction"',
        ', relax.pattern = "out_fusable"',
    ],
)
def test_what_is_not_true_changes_nothing(of_func: str) -> None:
    main = rx.build(rx.IRModule.parse(DOUBLING.format(of_func=of_func, of_op="")))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(X)), 2 * X)


SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def softmax(x: R.Tensor(("n", 8), "float32")):
        return R.nn.softmax(R.exp(x) * 0.5, axis=-1)

    @R.function
    def norm(x: R.Tensor(("n", 8), "float32"), s: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
        return R.exp(R.nn.layer_norm(x, s, b, axes=-1))

    @R.function
    def best(x: R.Tensor(("n", 8), "float32")):
        return R.argmax(x, axis=1)

    @R.function
    def scan(x: R.Tensor(("n", 8), "float32")):
        return R.cumsum(x, axis=1)
"""


def _claiming(module: rx.IRModule) -> list[str]:
    """The claims of the prim funcs of a module, sorted, each once."""
    with module.context:
        found = [
            op.attributes[KERNEL].value
            for op in module.mlir.body.operations
            if isinstance(op, func.FuncOp) and KERNEL in op.attributes
        ]
        found += ["argmax" for op in ops_of(module.mlir.operation) if ARG_REDUCE in op.attributes]
        return sorted(set(found))


def _legalized(passes: str) -> rx.IRModule:
    module = parse(SCRIPT)
    with module.context:
        module.apply_(parse_pipeline(passes))
    return rx.IRModule.parse(str(module))


@pytest.mark.parametrize("passes", ["legalize-ops", "legalize-ops,fuse-ops"])
def test_what_the_lowering_has_made_is_believed_when_it_is_read_again(passes: str) -> None:
    module = _legalized(passes)
    expected = ["argmax", "cumsum", "layer_norm", "softmax"]
    assert _claiming(module) == expected
    with module.context:
        module.apply_(CheckPrimFuncs())
    assert _claiming(module) == expected
    built, plain = rx.build(module), rx.build(parse(SCRIPT))
    s, b = np.linspace(0, 1, 8, dtype=np.float32), np.linspace(2, 1, 8, dtype=np.float32)
    for name, arguments in (("softmax", (X,)), ("norm", (X, s, b)), ("best", (X,)), ("scan", (X,))):
        np.testing.assert_allclose(
            np.from_dlpack(built[name](*arguments)), np.from_dlpack(plain[name](*arguments)), rtol=1e-6
        )


def test_a_body_that_was_changed_means_what_it_says() -> None:
    text = str(_legalized("legalize-ops"))
    assert text.count("math.exp") >= 2
    module = rx.IRModule.parse(text.replace("arith.divf", "arith.mulf"))
    with module.context:
        module.apply_(CheckPrimFuncs())
    assert "softmax" not in _claiming(module) and "cumsum" in _claiming(module)
    softmax = rx.build(rx.IRModule.parse(text.replace("arith.divf", "arith.mulf")))["softmax"]
    y = np.exp(X) * 0.5
    e = np.exp(y - y.max(1, keepdims=True))
    np.testing.assert_allclose(np.from_dlpack(softmax(X)), e * e.sum(1, keepdims=True), rtol=1e-5)


def test_every_legalisation_with_a_kernel_is_sealed() -> None:
    module = parse(SCRIPT)
    with module.context:
        module.apply_(LegalizeOps())
        for op in module.mlir.body.operations:
            assert (KERNEL in op.attributes) <= (KERNEL_SEAL in op.attributes)


def test_fusing_what_another_pass_has_changed() -> None:
    """A body without a valid provenance hash: the fused prim func claims nothing, and computes the same."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 5), "float32"))
    with bb.function("main", [x]):
        normed = bb.emit(R.nn.softmax(bb.emit(R.exp(x)), axis=-1))
        bb.emit_func_output(bb.emit(R.negative(normed)))
    module = bb.get()
    plain = rx.build(module)["main"]
    parse_pipeline("builtin.module(legalize-ops,canonicalize,cse,fuse-ops)").apply_(module)
    changed = rx.build(module)["main"]
    for n in (0, 1, 7):
        given = np.random.default_rng(n).standard_normal((n, 5)).astype("float32")
        results = [np.from_dlpack(function(given)) for function in (plain, changed)]
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6, atol=1e-7)
