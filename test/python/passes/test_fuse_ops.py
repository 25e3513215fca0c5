"""`fuse-ops`: which calls are fused, and that the values stay the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.mlir import ir
from relax_mlir.passes.fusion.fuse_ops import FuseOps

Array = np.ndarray[Any, Any]
MATRIX, ROW, COLUMN = (Tensor(shape, "float32") for shape in (("n", "m"), ("m",), ("n", 1)))


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


CASES: Sequence[tuple[Callable[..., Any], Callable[..., Any], Sequence[Tensor]]] = (
    (chain, lambda x, r, y: np.exp((x + r) / (1 + np.exp(-(x + r))) + y), [MATRIX, ROW, MATRIX]),
    (
        lambda x, c: R.multiply(R.add(x, R.exp(c)), R.permute_dims(R.permute_dims(R.subtract(x, c)))),
        lambda x, c: (x + np.exp(c)) * (x - c),
        [MATRIX, COLUMN],
    ),
    (
        lambda x, y: R.add(R.permute_dims(R.negative(x)), y),
        lambda x, y: y - x.T,
        [MATRIX, Tensor(("m", "n"))],
    ),
    (
        lambda x: R.where(R.greater(x, R.const(np.float32(0))), R.sqrt(R.abs(x)), R.negative(x)),
        lambda x: np.where(x > 0, np.sqrt(np.abs(x)), -x),
        [MATRIX],
    ),
    (
        lambda x: R.add(R.broadcast_to(R.astype(R.astype(x, "int64"), "float32"), ("n", "m")), x),
        lambda x: np.trunc(x) + x,
        [MATRIX],
    ),
)


A, B, BIAS = Tensor(("n", "m")), Tensor(("m", "k")), Tensor(("k",))
CASES = (
    *CASES,
    (
        lambda x, y, b: R.nn.relu(R.add(R.matmul(x, y), b)),
        lambda x, y, b: np.maximum(x @ y + b, 0),
        [A, B, BIAS],
    ),
    (
        lambda x, y: R.add(R.permute_dims(R.multiply(R.matmul(x, y), R.matmul(x, y))), x),
        lambda x, y: ((x @ y) ** 2).T + x,
        [SQUARE, SQUARE],
    ),
    (
        lambda x, y, z: R.add(R.tanh(R.divide(R.matmul(x, y), R.const(np.float32(3)))), z),
        lambda x, y, z: np.tanh(x @ y / np.float32(3)) + z,
        [Tensor(("b", "n", "m")), Tensor(("b", "m", "k")), Tensor(("b", "n", "k"))],
    ),
    (
        lambda x, y, z: R.subtract(z, R.matmul(x, y)),
        lambda x, y, z: z - x @ y,
        [Tensor(("b", "n", "m")), B, Tensor(("n", "k"))],
    ),
)


def test_values() -> None:
    bb = rx.BlockBuilder()
    for number, (build, _, params) in enumerate(CASES):
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
        with bb.function(f"case{number}", variables):
            bb.emit_func_output(build(*variables))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (0, 3), (3, 17), (9, 4), (40, 33)):
        sizes = {"n": n, "m": m, "k": 2 * m + 1, "b": 2}
        for number, (_, reference, params) in enumerate(CASES):
            shapes = [
                [d if isinstance(d, int) else sizes[str(d)] for d in p.known_shape or ()] for p in params
            ]
            inputs = [rng.uniform(-3, 3, shape).astype("float32") for shape in shapes]
            result = executable[f"case{number}"](*inputs)
            np.testing.assert_allclose(np.from_dlpack(result), reference(*inputs), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_rounded_after_each_op(dtype: str) -> None:
    info = Tensor(("n",), dtype)
    assert len(callees(module(lambda x: R.exp(R.negative(x)), [info]))) == 1


def test_what_folds_to_an_input_is_not_fused() -> None:
    found = module(lambda x: R.bitwise_not(R.bitwise_not(x)), [Tensor(("n", 3), "int32")])
    assert len(callees(found)) == 2
