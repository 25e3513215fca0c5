"""matmul against NumPy: batches, broadcasting, vectors, empty dimensions, every dtype."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from harness import FLOATS, INTEGERS, Suite, numbers
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

SHAPES = {
    "matrices": (("n", "k"), ("k", "m")),
    "linear": (("n", "m", 8), (8, 5)),
    "broadcast_batches": (("n", 1, 3, "k"), (2, "k", "m")),
    "matrix_vector": (("n", "m", "k"), ("k",)),
    "vector_matrix": (("k",), ("n", "k", "m")),
    "vectors": (("k",), ("k",)),
}
SIZES = (
    {"n": 1, "m": 1, "k": 1},
    {"n": 0, "m": 3, "k": 2},
    {"n": 2, "m": 3, "k": 0},
    {"n": 5, "m": 17, "k": 33},
)


def test_shapes() -> None:
    suite = Suite()
    for name, shapes in SHAPES.items():
        params = [Tensor(shape, "float32") for shape in shapes]
        suite.add(name, R.matmul, np.matmul, params, sizes=SIZES, tolerance=3e-5)
    suite.run()


def test_a_static_batch_of_one_broadcasts_at_run_time_sizes() -> None:
    suite = Suite()
    params = [Tensor(("n", "m", "k"), "float32"), Tensor((1, "k", 4), "float32")]
    suite.add("static_one", R.matmul, np.matmul, params, sizes=SIZES, tolerance=3e-5)
    suite.run()


def test_floats() -> None:
    suite = Suite()
    for dtype in FLOATS[1:]:
        params = [Tensor(("n", "k"), dtype), Tensor(("k", "m"), dtype)]
        suite.add(f"matrices_{dtype}", R.matmul, np.matmul, params, sizes=SIZES)
    params = [Tensor(("n", 2, "k"), "bfloat16"), Tensor(("k", "m"), "bfloat16")]
    suite.add("batched_bfloat16", R.matmul, np.matmul, params, sizes=SIZES)
    suite.run()


def test_integers_wrap_around() -> None:
    suite = Suite()
    for dtype in INTEGERS:
        params = [Tensor(("n", "k"), dtype), Tensor(("k", "m"), dtype)]
        suite.add(dtype, R.matmul, np.matmul, params, sizes=SIZES, draw=numbers(-128, 255))
    params = [Tensor(("n", 2, "k"), "bool"), Tensor(("k", "m"), "bool")]
    suite.add("bool", R.matmul, np.matmul, params, sizes=SIZES)
    suite.run()


def test_a_wider_result() -> None:
    suite = Suite()
    for dtype, wide in (("int8", "int32"), ("uint8", "uint32"), ("float16", "float32")):
        params = [Tensor(("n", "k"), dtype), Tensor(("k", "m"), dtype)]
        suite.add(
            f"{dtype}_{wide}",
            lambda a, b, wide=wide: R.matmul(a, b, wide),
            lambda a, b, wide=wide: np.matmul(a.astype(wide), b.astype(wide)),
            params,
            sizes=SIZES,
            draw=numbers(-100, 255) if dtype != "float16" else None,
            tolerance=1e-4,
        )
    suite.run()


@pytest.mark.parametrize(
    ("shapes", "error", "message"),
    [
        ((("n", 3), (4, "m")), ShapeError, "summed dimensions 3 and 4 differ"),
        ((("n", "k"), ("l", "m")), ShapeError, "match_shape one of the tensors first"),
        ((("n",), ()), ShapeError, "operand 'x2' has rank 0"),
        (((2, "n", 3), (4, 3, "m")), ShapeError, "2 and 4 do not broadcast"),
    ],
)
def test_shapes_that_do_not_fit(
    shapes: tuple[tuple[int | str, ...], ...], error: type[RelaxError], message: str
) -> None:
    bb = rx.BlockBuilder()
    params = [rx.Var(f"x{i}", Tensor(shape, "float32")) for i, shape in enumerate(shapes)]
    with pytest.raises(error, match=message), bb.function("main", params):
        R.matmul(*params)


def test_dtypes_that_do_not_fit() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", Tensor(("n", 3), "int32")), rx.Var("y", Tensor((3, "n"), "float32"))
    with pytest.raises(DTypeError, match="astype"), bb.function("main", [x, y]):
        R.matmul(x, y)
    with pytest.raises(DTypeError, match="out_dtype int16"), bb.function("main", [x]):
        R.matmul(x, R.permute_dims(x), "int16")


def test_of_a_permutation_that_moves_nothing() -> None:
    """It is read in place, like other permutations, so nothing remains of it."""
    module = parse("""
@R.function
def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")):
    with R.dataflow():
        y = R.matmul(R.permute_dims(x, axes=[0, 1]), R.permute_dims(w, axes=[0, 1]))
        R.output(y)
    return y
""")
    x, w = np.arange(6, dtype="f4").reshape(2, 3), np.arange(12, dtype="f4").reshape(3, 4)
    np.testing.assert_array_equal(to_numpy(rx.build(module)["main"](x, w)), x @ w)
