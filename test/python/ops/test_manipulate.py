"""Ops that move elements against NumPy, on symbolic shapes with empty and single-element dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, INTEGERS, Array, Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, CheckError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

LENGTHS = (0, 1, 2, 3, 5, 8)


def sequence(*shape: int) -> Array:
    """0, 1, 2, … as float32: every element shows its origin."""
    return np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)


def rows(*lengths: int) -> list[list[Array]]:
    """One input of shape (n, 2) for each length n."""
    return [[sequence(n, 2)] for n in lengths]


MATRIX = [Tensor(("n", "m"), "float32")]
MATRICES = [[sequence(3, 4)], [sequence(0, 4)], [sequence(1, 1)], [sequence(7, 0)], [sequence(17, 33)]]


def test_permutations() -> None:
    suite = Suite()
    suite.add("reversed", R.permute_dims, np.transpose, MATRIX, sizes=(), inputs=MATRICES)
    suite.add("scalar", R.permute_dims, np.transpose, [Tensor((), "float32")])
    suite.add(
        "three",
        lambda x: R.permute_dims(x, [2, 0, -2]),
        lambda x: x.transpose(2, 0, 1),
        [Tensor(("n", 2, "m"), "float32")],
    )
    suite.run()


def test_views() -> None:
    cube = [Tensor(("n", "m", 6), "float32")]
    suite = Suite()
    suite.add(
        "split_last",
        lambda x: R.reshape(x, ("n", "m", 2, 3)),
        lambda x: x.reshape(*x.shape[:2], 2, 3),
        cube,
    )
    suite.add(
        "deduced",
        lambda x: R.reshape(x, ("n", -1)),
        lambda x: x.reshape(x.shape[0], x.shape[1] * 6),
        cube,
    )
    suite.add("merged", lambda x: R.reshape(x, (2, "n*m", 3)), lambda x: x.reshape(2, -1, 3), cube)
    suite.add(
        "same_rank",
        lambda x: R.reshape(R.permute_dims(x), ("n", "m")),
        lambda x: x.T.reshape(x.shape),
        MATRIX,
        sizes=(),
        inputs=MATRICES,
    )
    suite.add(
        "scalars",
        lambda x: [
            R.reshape(x, (1, 1)),
            R.flatten(x),
            R.expand_dims(x, 0),
            R.squeeze(R.expand_dims(x, [0, 1])),
        ],
        lambda x: [x.reshape(1, 1), x.reshape(1), x.reshape(1), x],
        [Tensor((), "float32")],
    )
    suite.add("flat", R.flatten, lambda x: x.reshape(-1), cube)
    suite.add(
        "expanded",
        lambda x: R.expand_dims(x, [0, 2, -1]),
        lambda x: np.expand_dims(x, (0, 2, -1)),
        MATRIX,
        sizes=(),
        inputs=MATRICES,
    )
    suite.add(
        "squeezed",
        lambda x: [R.squeeze(x), R.squeeze(x, -1), R.squeeze(x, [1, 3])],
        lambda x: [x[:, 0, :, 0], x[..., 0], x[:, 0, :, 0]],
        [Tensor(("n", 1, "m", 1), "float32")],
    )
    suite.run()


def test_reshape_whose_size_is_checked_at_run_time() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", Tensor(("n", 4), "float32")), rx.Var("y", Tensor(("k", "l"), "float32"))
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.reshape(x, ("k", "l")))
    main = rx.build(bb.get())["main"]
    assert tuple(main(sequence(3, 4), sequence(2, 6)).shape) == (2, 6)
    with pytest.raises(ShapeError, match="12 elements are not 5"):
        main(sequence(3, 4), sequence(5, 1))


def test_reshape_of_an_unknown_number_of_nothing() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 0), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output((R.exp(R.flatten(R.exp(x))), R.reshape(R.exp(x), (0, "n", 2))))
    main = rx.build(bb.get())["main"]
    for n in (0, 3):
        flat, turned = main(np.zeros((n, 0), np.float32))
        assert (tuple(flat.shape), tuple(turned.shape)) == ((0,), (0, n, 2))


def test_broadcast_to() -> None:
    suite = Suite()
    suite.add(
        "matrix",
        lambda x: R.broadcast_to(x, (2, "n", 5)),
        lambda x: np.broadcast_to(x, (2, x.shape[0], 5)),
        [Tensor(("n", 1), "float32")],
    )
    suite.add(
        "like",
        lambda x, y: R.broadcast_to(x, R.shape_of(y)),
        lambda x, y: np.broadcast_to(x, y.shape),
        [Tensor((), "float32"), Tensor(("n", "m"), "float32")],
    )
    suite.run()


def test_concat() -> None:
    suite = Suite()
    suite.add(
        "rows",
        lambda *tensors: R.concat(tensors, 0),
        lambda *tensors: np.concatenate(tensors, 0),
        [Tensor(("n", 4), "float32"), Tensor(("m", 4), "float32"), Tensor((2, 4), "float32")],
    )
    suite.add(
        "columns",
        lambda x, y: R.concat([x, y, x], -1),
        lambda x, y: np.concatenate([x, y, x], -1),
        [Tensor(("n", "m"), "float32"), Tensor(("n", "k"), "float32")],
    )
    suite.add("one", lambda x: R.concat([x]), lambda x: x, MATRIX, sizes=(), inputs=MATRICES)
    suite.run()


def sections(x: Array, count: int) -> list[Array]:
    length = -(-len(x) // count)
    return [x[i * length : (i + 1) * length] for i in range(count)]


def test_split() -> None:
    suite = Suite()
    suite.add(
        "uneven",
        lambda x: R.split(x, 3),
        lambda x: sections(x, 3),
        MATRIX,
        sizes=(),
        inputs=rows(0, 1, 2, 3, 4, 5, 6, 7, 9),
    )
    suite.add("even", lambda x: R.split(x, 3, -1), lambda x: np.split(x, 3, 1), [Tensor(("n", 6), "float32")])
    suite.add(
        "positions",
        lambda x: R.split(x, [1, 4]),
        lambda x: np.split(x, [1, 4]),
        MATRIX,
        sizes=(),
        inputs=rows(*LENGTHS),
    )
    suite.run()


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take_with_any_index(mode: Any) -> None:
    suite = Suite()
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        indices = np.array([[0, 1, 2], [limits.max, limits.min, 5]], dtype=dtype)
        suite.add(
            dtype,
            lambda x, i: R.take(x, i, 1, mode),
            lambda x, i: take(x, i, mode),
            [Tensor(("n", "m"), "float32"), Tensor(("k", 3), dtype)],
            sizes=(),
            inputs=[[sequence(3, 4), indices], [sequence(2, 1), indices], [sequence(2, 0), indices]],
        )
    suite.run()


def test_take_checks_indices() -> None:
    """Mode ``check``: negative indices count from the end, as NumPy's do, and what is out of range is an error."""
    axes = {"rows": 0, "columns": 1}
    kinds = {"int64": ("k", 2), "int8": (), "uint8": ("k",)}
    bb = rx.BlockBuilder()
    for name, axis in axes.items():
        for dtype, shape in kinds.items():
            x, i = rx.Var("x", Tensor(("n", "m"), "float32")), rx.Var("i", Tensor(shape, dtype))
            with bb.function(f"{name}_{dtype}", [x, i]):
                bb.emit_func_output(R.take(x, i, axis, "check"))
    executable = rx.build(bb.get())
    data = sequence(3, 4)
    for name, axis in axes.items():
        size = data.shape[axis]
        for dtype, shape in kinds.items():
            for index in (0, size - 1, -1, -size, size, -size - 1, 127):
                if dtype == "uint8" and index < 0:
                    continue
                i = np.full([1 if d == "k" else d for d in shape], index, dtype)
                run = executable[f"{name}_{dtype}"]
                if -size <= index < size:
                    np.testing.assert_array_equal(to_numpy(run(data, i)), np.take(data, i, axis))
                    continue
                with pytest.raises(CheckError, match=f"an index is out of range for dimension {axis}"):
                    run(data, i)
    nothing = np.zeros((0, 2), "int64")
    assert to_numpy(executable["rows_int64"](data[:0], nothing)).shape == (0, 2, 4)
    with pytest.raises(CheckError, match="an index is out of range"):
        executable["rows_int64"](data[:0], np.zeros((1, 2), "int64"))


def take(x: Array, indices: Array, mode: str) -> Array:
    size = x.shape[1]
    if size == 0:
        return np.zeros((len(x), *indices.shape), x.dtype)
    found = [min(max(int(i), 0), size - 1) if mode == "clip" else int(i) % size for i in indices.reshape(-1)]
    return x[:, np.array(found).reshape(indices.shape)]


def test_take() -> None:
    table, scalar = Tensor((5, "m"), "float32"), Tensor((), "int64")
    suite = Suite()
    indices = np.array([4, 0, 9, -3])
    suite.add(
        "embedding",
        lambda x, i: R.take(x, i, 0, "fast"),
        lambda x, i: np.take(x, i, 0, mode="clip"),
        [table, Tensor(("k",), "int64")],
        sizes=(),
        inputs=[[sequence(5, 3), indices], [sequence(5, 0), indices], [sequence(5, 3), indices[:0]]],
    )
    suite.add(
        "nan",
        lambda x, i: R.take(x, i, 0, "nan"),
        lambda x, i: np.where(((i >= 0) & (i < 5))[:, None], np.take(x, i, 0, mode="clip"), np.nan),
        [table, Tensor(("k",), "int64")],
        sizes=(),
        inputs=[[sequence(5, 3), indices]],
    )
    suite.add(
        "scalar",
        lambda x, i: [R.take(x, i, 0), R.take(x, i)],
        lambda x, i: [x[i], x.reshape(-1)[i]],
        [table, scalar],
        sizes=(),
        inputs=[[sequence(5, 3), np.array(2)]],
    )
    suite.run()


def test_every_dtype() -> None:
    suite = Suite()
    for dtype in ALL:
        values = (sequence(3, 4) % 2 if dtype == "bool" else sequence(3, 4)).astype(dtypes.dtype(dtype).numpy)
        suite.add(
            dtype,
            lambda x, i: R.concat([R.take(x, i, 0), R.permute_dims(R.permute_dims(x))]),
            lambda x, i: np.concatenate([x[i], x]),
            [Tensor(("n", 4), dtype), Tensor(("k",), "int64")],
            sizes=(),
            inputs=[[values, np.array([2, 0])]],
        )
    suite.run()


def add_slice(
    suite: Suite,
    begin: int | str,
    end: int | str,
    stride: int | None,
    python: Callable[[Array], Array],
) -> None:
    strides = None if stride is None else [stride]
    suite.add(
        "slice",
        lambda x: R.strided_slice(x, [0], [begin], [end], strides),
        python,
        MATRIX,
        sizes=(),
        inputs=rows(*LENGTHS),
    )


def test_constant_slices() -> None:
    suite = Suite()
    for begin, end, stride in (
        (0, 3, None),
        (1, -1, 2),
        (-3, 2**31 - 1, 1),
        (5, -2, 1),
        (-2, -1, 3),
        (-1, 0, -2),
        (3, -7, -1),
        (9, -(2**63), -3),
    ):
        stop = None if end in (2**31 - 1, -(2**63)) else end
        add_slice(suite, begin, end, stride, lambda x, s=slice(begin, stop, stride): x[s])
    suite.run()


def test_symbolic_slices() -> None:
    suite = Suite()
    add_slice(suite, "n - 3", "n - 1", None, lambda x: x[len(x) - 3 : len(x) - 1])
    add_slice(suite, "m", "n - 1", 1, lambda x: x[2 : len(x) - 1])
    add_slice(suite, "n - 2", "n - 5", -1, lambda x: x[len(x) - 2 : len(x) - 5 : -1])
    suite.run()


def test_slices_along_several_axes() -> None:
    suite = Suite()
    suite.add(
        "static",
        lambda x: R.strided_slice(x, [1, 0], [1, 0], [-1, 3], [2, 1]),
        lambda x: x[0:3, 1:-1:2],
        [Tensor((5, 6), "float32")],
    )
    suite.add(
        "flipped",
        lambda x: R.strided_slice(x, [0, 1], [-1, -1], [-(2**31), -(2**31)], [-1, -2]),
        lambda x: x[::-1, ::-2],
        MATRIX,
        sizes=(),
        inputs=MATRICES,
    )
    suite.add(
        "long_strides",
        lambda x: R.strided_slice(x, [0, 1], [0, -1], [3, -(2**63)], [2**63 - 1, -(2**63)]),
        lambda x: x[: 3 : 2**63 - 1, :: -(2**63)],
        MATRIX,
        sizes=(),
        inputs=MATRICES,
    )
    suite.add(
        "in_bounds",
        lambda x: R.strided_slice(x, [0], [0], ["n - 2"], assume_inbound=True),
        lambda x: x[: len(x) - 2],
        MATRIX,
        sizes=(),
        inputs=rows(2, 3, 8),
    )
    suite.run()


def test_a_broken_promise_of_bounds_reads_inside() -> None:
    suite = Suite()
    suite.add(
        "broken",
        lambda x: R.strided_slice(x, [0], [1], [4], assume_inbound=True),
        lambda x: x[np.minimum([1, 2, 3], len(x) - 1)] if len(x) else np.zeros((3, 2)),
        MATRIX,
        sizes=(),
        inputs=rows(0, 1, 3, 5),
    )
    suite.run()


REFUSED: Sequence[tuple[Callable[[rx.Value], object], type[RelaxError], str]] = (
    (lambda x: R.reshape(x, (2, 3)), ShapeError, "6 elements|elements"),
    (lambda x: R.reshape(x, ("n", 5, -1)), ShapeError, "not provably a multiple of 5"),
    (lambda x: R.reshape(x, (-1, -1)), ShapeError, "more than one -1"),
    (lambda x: R.expand_dims(x, [0, 0]), ShapeError, "name a dimension twice"),
    (lambda x: R.squeeze(x, 0), ShapeError, "which is not provably 1"),
    (lambda x: R.squeeze(x, 1), ShapeError, "not 1"),
    (lambda x: R.permute_dims(x, [0]), ShapeError, "no permutation"),
    (lambda x: R.broadcast_to(x, ("n", 5)), ShapeError, "neither 1 nor 5"),
    (lambda x: R.broadcast_to(x, (4,)), ShapeError, "fewer dimensions"),
    (lambda x: R.concat([x, R.permute_dims(x)]), ShapeError, "dimension 1 is 4 and n"),
    (lambda x: R.concat([x, R.flatten(x)]), ShapeError, "differ in rank"),
    (lambda x: R.concat([]), ArgumentError, "no tensors"),
    (lambda x: R.concat(x), ArgumentError, "a tuple of them"),
    (lambda x: R.split(x, 0), ArgumentError, "expected at least 1"),
    (lambda x: R.take(x, x, 0), DTypeError, "expected an integer"),
    (lambda x: R.take(x, R.const(1), 0, "other"), ArgumentError, "expected one of"),  # type: ignore[arg-type]
    (lambda x: R.strided_slice(x, [0], [0], [1], [0]), ArgumentError, "stride 0"),
    (lambda x: R.strided_slice(x, [0, 1], [0], [1]), ArgumentError, "2 axes, 1 begins"),
    (lambda x: R.strided_slice(x, [2], [0], [1]), ShapeError, "out of range"),
)


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused(case: int) -> None:
    emit, error, message = REFUSED[case]
    x = rx.Var("x", Tensor(("n", 4), "float32"))
    with pytest.raises(error, match=message), rx.BlockBuilder().function("main", [x]):
        emit(x)


def test_dimensions_that_are_certainly_empty() -> None:
    suite = Suite()
    empty, x = Tensor(("n", 0), "float32"), Tensor(("n", 3), "float32")
    suite.add(
        "concat", lambda a, b: R.concat([a, b], 0), lambda a, b: np.concatenate([a, b], 0), [empty, empty]
    )
    suite.add("concat", lambda a, b: R.concat([a, b], 1), lambda a, b: np.concatenate([a, b], 1), [x, empty])
    suite.add("split", lambda a: R.split(a, [3], 1), lambda a: np.split(a, [3], 1), [x])
    suite.add("split", lambda a: R.split(a, [1], 0), lambda a: [a[:1], a[1:]], [empty])
    suite.run()


def test_large_unsigned_constants() -> None:
    suite = Suite()
    big = np.array([2**64 - 1, 2**63, 7], np.uint64)
    suite.add("or", lambda a: R.bitwise_or(a, R.const(big)), lambda a: a | big, [Tensor(("n", 3), "uint64")])
    suite.run()
