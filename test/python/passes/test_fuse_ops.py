"""`fuse-ops`: which calls are fused, and that the values stay the same."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from fusion_cases import Case, check_calls, check_values, f32, module_of
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.mlir import ir
from relax_mlir.passes.fusion.fuse_ops import FuseOps
from relax_mlir.script import parse

MATRIX, ROW, COLUMN = f32("n", "m"), f32("m"), f32("n", 1)


def module(build: Callable[..., Any], params: Sequence[Tensor]) -> rx.IRModule:
    bb = rx.BlockBuilder()
    variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
    with bb.function("main", variables):
        with bb.dataflow():
            result = bb.emit_output(build(*variables))
        bb.emit_func_output(result)
    return bb.get()


def callees(mod: rx.IRModule, max_depth: int = 16) -> list[str]:
    """The prim funcs that main calls after fusion, in order."""
    mod.apply_(LegalizeOps())
    mod.apply_(FuseOps(max_depth))
    mod.verify()
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "relax.call_tir":
            found.append(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        return ir.WalkResult.ADVANCE

    mod.mlir.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def chain(x: rx.Value, row: rx.Value, y: rx.Value) -> rx.Value:
    return R.exp(R.add(R.nn.silu(R.add(x, row)), y))


def test_a_chain_becomes_one() -> None:
    assert callees(module(chain, [MATRIX, ROW, MATRIX])) == ["add_f32_nn_silu_f32_add_f32_1_exp_f32"]


def test_max_depth_limits_the_groups() -> None:
    assert len(callees(module(chain, [MATRIX, ROW, MATRIX]), max_depth=2)) == 2
    assert len(callees(module(chain, [MATRIX, ROW, MATRIX]), max_depth=1)) == 4


def test_like_groups_share_a_function() -> None:
    def layers(x: rx.Value, row: rx.Value, w: rx.Value) -> rx.Value:
        for _ in range(3):
            x = R.matmul(R.nn.relu(R.add(x, row)), w)
        return x

    params = [Tensor(("n", 4), "float32"), Tensor((4,), "float32"), Tensor((4, 4), "float32")]
    counts = Counter(callees(module(layers, params)))
    assert counts == {"add_f32_nn_relu_f32": 1, "matmul_add_f32_nn_relu_f32": 2, "matmul": 1}


def test_a_value_with_two_users_stays() -> None:
    def build(x: rx.Value) -> list[rx.Value]:
        y = R.exp(x)
        return [R.negative(y), R.sqrt(y)]

    assert len(callees(module(build, [MATRIX]))) == 3


def test_a_value_used_twice_by_one_call_is_fused() -> None:
    def build(x: rx.Value) -> rx.Value:
        y = R.exp(x)
        return R.multiply(y, y)

    assert callees(module(build, [MATRIX])) == ["exp_f32_multiply_f32"]


def test_nothing_is_computed_more_often() -> None:
    """The exponential of a column is not taken for every element of the matrix."""
    assert len(callees(module(lambda x, c: R.add(x, R.exp(c)), [MATRIX, COLUMN]))) == 2


SQUARE = Tensor(("n", "n"), "float32")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x, y: R.nn.gelu(R.add(R.matmul(x, y), y)), ["matmul_add_f32_nn_gelu_f32"]),
        (lambda x, y: R.add(R.matmul(x, y), R.matmul(y, x)), ["matmul", "matmul_add_f32"]),
        (lambda x, y: R.permute_dims(R.matmul(x, y)), ["matmul", "permute_dims"]),
        (lambda x, y: R.matmul(R.nn.relu(x), y), ["nn_relu_f32", "matmul"]),
        (lambda x, y: R.astype(R.matmul(x, y), "float16"), ["matmul_astype_f32"]),
        (lambda x, y: R.nn.softmax(R.matmul(x, y)), ["matmul", "softmax_f32"]),
    ],
    ids=["chain", "two-products", "transposed", "before", "rounded", "rows"],
)
def test_contractions_take_the_loop_behind_them(build: Callable[..., Any], expected: list[str]) -> None:
    found = callees(module(build, [SQUARE, SQUARE]))
    assert len(found) == len(expected)
    assert [name.startswith("matmul_") for name in found] == [name.startswith("matmul_") for name in expected]


def test_a_product_with_two_users_keeps_its_result() -> None:
    def build(x: rx.Value, y: rx.Value) -> list[rx.Value]:
        z = R.matmul(x, y)
        return [R.nn.relu(z), R.exp(z)]

    assert len(callees(module(build, [SQUARE, SQUARE]))) == 3
    assert len(callees(module(lambda x, y: R.nn.relu(R.matmul(x, y)), [SQUARE, SQUARE]), max_depth=1)) == 2


def test_a_call_does_not_move_past_an_effect() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", MATRIX)
    with bb.function("main", [x]):
        y = R.exp(x)
        R.call_packed("test.change_in_place", x)
        bb.emit_func_output(R.negative(y))
    assert len(callees(bb.get())) == 2


A, B = f32("n", "m"), f32("m", "k")
CASES: dict[str, Case] = {
    "a chain": (chain, [MATRIX, ROW, MATRIX], 1),
    "a column": (
        lambda x, c: R.multiply(R.add(x, R.exp(c)), R.permute_dims(R.permute_dims(R.subtract(x, c)))),
        [MATRIX, COLUMN],
        2,
    ),
    "transposed": (lambda x, y: R.add(R.permute_dims(R.negative(x)), y), [MATRIX, f32("m", "n")], 1),
    "a condition": (
        lambda x: R.where(R.greater(x, R.const(np.float32(0))), R.sqrt(R.abs(x)), R.negative(x)),
        [MATRIX],
        1,
    ),
    "integers between": (
        lambda x: R.add(R.broadcast_to(R.astype(R.astype(x, "int64"), "float32"), ("n", "m")), x),
        [MATRIX],
        1,
    ),
    "a product": (lambda x, y, b: R.nn.relu(R.add(R.matmul(x, y), b)), [A, B, f32("k")], 1),
    "two products": (
        lambda x, y: R.add(R.permute_dims(R.multiply(R.matmul(x, y), R.matmul(x, y))), x),
        [SQUARE, SQUARE],
        3,
    ),
    "batches": (
        lambda x, y, z: R.add(R.tanh(R.divide(R.matmul(x, y), R.const(np.float32(3)))), z),
        [f32("h", "n", "m"), f32("h", "m", "k"), f32("h", "n", "k")],
        1,
    ),
    "a batch and a matrix": (
        lambda x, y, z: R.subtract(z, R.matmul(x, y)),
        [f32("h", "n", "m"), B, f32("n", "k")],
        1,
    ),
}


def test_calls_of_cases() -> None:
    check_calls(CASES)


@functools.cache
def executable() -> rx.Executable:
    return rx.build(module_of(CASES))


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    check_values(CASES, name, executable())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_rounded_after_each_op(dtype: str) -> None:
    info = Tensor(("n",), dtype)
    assert len(callees(module(lambda x: R.exp(R.negative(x)), [info]))) == 1


def test_what_folds_to_an_input_is_not_fused() -> None:
    found = module(lambda x: R.bitwise_not(R.bitwise_not(x)), [Tensor(("n", 3), "int32")])
    assert len(callees(found)) == 2


def test_prim_funcs_for_tensors_of_any_size() -> None:
    """A prim func of a user, whose sizes are all symbols, between ops of known sizes."""
    mod = parse("""
@I.ir_module
class Module:
    @T.prim_func
    def clipped(x: T.handle, y: T.handle):
        n, m = T.int64(), T.int64()
        X = T.match_buffer(x, (n, m), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("clipped"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function
    def product(x: R.Tensor(("n", 5), "float32"), w: R.Tensor((5, 6), "float32")):
        return R.exp(R.call_tir(cls.clipped, (R.matmul(x, w),), R.Tensor((n, 6), "float32")))

    @R.function
    def sums(x: R.Tensor((4, 6), "float32")):
        return R.abs(R.call_tir(cls.clipped, (R.negative(x),), R.Tensor((4, 6), "float32")))
""")
    built, rng = rx.build(mod), np.random.default_rng(0)
    for n in (0, 1, 7):
        x, w = rng.standard_normal((n, 5)).astype("float32"), rng.standard_normal((5, 6)).astype("float32")
        np.testing.assert_allclose(built["product"](x, w), np.exp(np.maximum(x @ w, 0)), rtol=1e-5)
    x = rng.standard_normal((4, 6)).astype("float32")
    np.testing.assert_array_equal(built["sums"](x), np.maximum(-x, 0))
