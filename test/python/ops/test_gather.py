"""gather_elements, gather_nd and index_tensor against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, INTEGERS, Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import BoundsError, CheckError, RelaxError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)


def values(dtype: str, *shape: int) -> Array:
    return np.asarray(RNG.integers(0, 2 if dtype == "bool" else 100, shape)).astype(dtypes.dtype(dtype).numpy)


def places(size: int, *shape: int, dtype: str = "int64") -> Array:
    """Indices, counted from either end."""
    low = 0 if dtype.startswith("uint") else -size
    return RNG.integers(low, size, shape).astype(dtype) if size else np.zeros(shape, dtype)


def by_vectors(x: Array, indices: Array, batch: int) -> Array:
    """ONNX's GatherND, according to its specification."""
    found = [x[at[:batch]][tuple(indices[at])] for at in np.ndindex(indices.shape[:-1])]
    shape = (*indices.shape[:-1], *x.shape[batch + indices.shape[-1] :])
    return np.array(found, x.dtype).reshape(shape)


@pytest.mark.parametrize("dtype", ALL)
def test_all_dtypes(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    x = Tensor(("n", "m"), dtype)
    for axis in (0, -1):
        sizes = [(4, 3, 5, 2), (1, 1, 1, 1), (2, 3, 0, 3), (0, 3, 0, 3), (7, 17, 7, 17)]
        inputs = []
        for n, m, k, j in sizes:
            k, j = (k, min(j, m)) if axis == 0 else (min(k, n), j)
            inputs.append([values(dtype, n, m), places((n, m)[axis], k, j)])
        suite.add(
            "gather_elements",
            lambda x, i, a=axis: R.gather_elements(x, i, a),
            lambda x, i, a=axis: np.take_along_axis(
                x[: i.shape[0]] if a else x[:, : i.shape[1]], np.where(i < 0, i + x.shape[a], i), a
            ),
            [x, Tensor(("k", "j"), "int64")],
            inputs=inputs,
            sizes=(),
        )
    for count in (0, 1, 2):
        inputs = []
        for n, m, k in [(4, 3, 5), (1, 1, 1), (2, 3, 0), (3, 9, 2)]:
            columns = [places(size, k, 1) for size in (n, m)[:count]]
            inputs.append([values(dtype, n, m), np.concatenate([np.zeros((k, 0), np.int64), *columns], 1)])
        suite.add(
            f"gather_nd_{count}",
            R.gather_nd,
            lambda x, i: by_vectors(x, i, 0),
            [x, Tensor(("k", count), "int64")],
            inputs=inputs,
            sizes=(),
        )
    suite.add(
        "index_tensor",
        lambda x, i, j: R.index_tensor(x, [i, j]),
        lambda x, i, j: x[i, j],
        [x, Tensor(("k", 1), "int64"), Tensor(("j",), "int64")],
        inputs=[
            [values(dtype, n, m), places(n, k, 1), places(m, j)]
            for n, m, k, j in [(4, 3, 2, 5), (1, 1, 1, 1), (2, 2, 0, 3), (0, 2, 0, 2)]
        ],
        sizes=(),
    )
    suite.run(test_all_dtypes)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_indices(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    x = values("float32", 9, 5)
    kinds = [Tensor(("n", "m"), "float32"), Tensor(("k", "j"), dtype)]
    inputs = [[x, places(9, 4, 5, dtype=dtype)]]
    suite.add(
        "elements",
        R.gather_elements,
        lambda x, i: np.take_along_axis(x, np.where(i.astype(np.int64) < 0, i + 9, i).astype(np.int64), 0),
        kinds,
        inputs=inputs,
        sizes=(),
    )
    suite.add(
        "index", lambda x, i: R.index_tensor(x, (i,)), lambda x, i: x[i], kinds, inputs=inputs, sizes=()
    )
    suite.run(test_dtypes_of_indices)


def test_batch_dimensions_and_ranks() -> None:
    suite = Suite()
    x = values("float32", 3, 4, 5, 2)
    for batch, shape in ((1, (3, 6, 2)), (2, (3, 4, 1)), (2, (3, 4, 7, 2)), (1, (3, 0))):
        columns = [places(x.shape[batch + c], *shape[:-1], 1) for c in range(shape[-1])]
        indices = np.concatenate([np.zeros((*shape[:-1], 0), np.int64), *columns], -1)
        dims = ("a", "b", "c", "d")
        own = (*dims[:batch], *(f"k{i}" for i in range(len(shape) - 1 - batch)), shape[-1])
        suite.add(
            "batch",
            lambda x, i, b=batch: R.gather_nd(x, i, b),
            lambda x, i, b=batch: by_vectors(x, i, b),
            [Tensor(dims, "float32"), Tensor(own, "int64")],
            inputs=[[x, indices]],
            sizes=(),
        )
    suite.add(
        "scalar index",
        lambda x, i: R.index_tensor(x, [i]),
        lambda x, i: x[i],
        [Tensor(("a", "b"), "float32"), Tensor((), "int32")],
        inputs=[[values("float32", 3, 2), np.array(-1, np.int32)]],
        sizes=(),
    )
    suite.add(
        "three",
        lambda x, i, j, k: R.index_tensor(x, [i, j, k]),
        lambda x, i, j, k: x[i, j, k],
        [Tensor(("a", "b", "c", "d"), "float32"), *[Tensor(("k",), "int64")] * 3],
        inputs=[[x, places(3, 6), places(4, 6), places(5, 6)]],
        sizes=(),
    )
    suite.run()


def program(build: Callable[..., Any], *params: Tensor) -> Any:
    bb = rx.BlockBuilder()
    given = [rx.Var(name, info) for name, info in zip("xyz", params, strict=False)]
    with bb.function("main", given):
        bb.emit_func_output(build(*given))
    return rx.build(bb.finalize())["main"]


MATRIX, INDICES = Tensor(("n", "m"), "float32"), Tensor(("k", 2), "int64")


@pytest.mark.parametrize(
    ("build", "bad", "index", "axis"),
    [
        (lambda x, i: R.gather_elements(x, i, 0), [[0, 3]], 3, 0),
        (lambda x, i: R.gather_elements(x, i, 1), [[0, -5]], -5, 1),
        (R.gather_nd, [[0, 4]], 4, 1),
        (R.gather_nd, [[-4, 0]], -4, 0),
        (lambda x, i: R.index_tensor(x, [i]), [[0, 2**62]], 2**62, 0),
    ],
)
def test_indices_out_of_range(build: Callable[..., Any], bad: Any, index: int, axis: int) -> None:
    main = program(build, MATRIX, INDICES)
    x = values("float32", 3, 4)
    main(x, np.zeros((3, 2), np.int64))
    size = (3, 4)[axis]
    where = f"index {index} is out of range for dimension {axis} of size {size}"
    with pytest.raises(BoundsError, match=rf"(gather|index)_\w+: 'data': {where}, at .*test_gather"):
        main(x, np.array(bad))
    with pytest.raises(BoundsError, match="out of range for dimension 0 of size 0"):
        main(x[:0], np.zeros((1, 2), np.int64))


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int32"])
def test_an_empty_dimension_has_no_index(dtype: str) -> None:
    run = program(lambda x, i: R.take(x, i, 0, "check"), Tensor(("n", 2), "float32"), Tensor(("k",), dtype))
    for indices in (places(1, 3, dtype=dtype), np.zeros(0, dtype)):
        x = np.ones((1, 2), np.float32)
        np.testing.assert_array_equal(np.from_dlpack(run(x, indices)), x[indices])
    with pytest.raises(CheckError, match="out of range for dimension 0"):
        run(np.ones((0, 2), np.float32), np.zeros(1, dtype))


def test_more_indices_than_elements() -> None:
    main = program(R.gather_elements, MATRIX, Tensor(("k", "j"), "int64"))
    x = values("float32", 3, 4)
    assert main(x, np.zeros((5, 4), np.int64)).shape == (5, 4)
    with pytest.raises(BoundsError, match="index 4 is out of range for dimension 1 of size 4"):
        main(x, np.zeros((1, 5), np.int64))


X, PLACES = rx.Tensor(("n", 4), "float32"), rx.Tensor(("k", 2), "int64")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("gather_elements", [X, rx.Tensor(("k", 4), "int64")], {}, 'Tensor((k, 4), "float32")'),
        ("gather_elements", [X, rx.Tensor(None, "int64")], {}, 'Tensor((?, ?), "float32")'),
        ("gather_nd", [X, PLACES], {}, 'Tensor((k,), "float32")'),
        ("gather_nd", [X, rx.Tensor(("k", 1), "int8")], {}, 'Tensor((k, 4), "float32")'),
        ("gather_nd", [X, rx.Tensor(("n", 1), "int8")], {"batch_dims": 1}, 'Tensor((n,), "float32")'),
        ("gather_nd", [rx.Tensor(None, "float32"), PLACES], {}, 'Tensor(?, "float32")'),
        ("index_tensor", [X, [PLACES]], {}, 'Tensor((k, 2, 4), "float32")'),
        ("index_tensor", [X, [PLACES, rx.Tensor((), "int8")]], {}, 'Tensor((k, 2), "float32")'),
        ("index_tensor", [X, [rx.Tensor((None,), "int8")]], {}, 'Tensor((?, 4), "float32")'),
    ],
)
def test_shapes(name: str, operands: Sequence[Any], attributes: dict[str, Any], expected: str) -> None:
    assert str(R.infer_rule(name)(*operands, **attributes)) == expected


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        ("gather_elements", [X, X], {}, "operand 'indices' has dtype float32, expected an integer"),
        ("gather_elements", [X, PLACES], {"axis": 2}, "axis 2 is out of range for a tensor of rank 2"),
        ("gather_elements", [X, rx.Tensor((3,), "int64")], {}, r"'indices' is .*, expected the 2 dimensions"),
        (
            "gather_elements",
            [X, rx.Tensor((3, 5), "int64")],
            {},
            "dimension 1 of 'indices' is 5, more than 4",
        ),
        ("gather_elements", [rx.Tensor(()), rx.Tensor((), "int64")], {}, "expected at least one dimension"),
        ("gather_nd", [X, rx.Tensor(("k", 3), "int64")], {}, "vectors of 'indices' have 3 places, 'data' is"),
        (
            "gather_nd",
            [X, rx.Tensor((2, "k"), "int64")],
            {},
            "last dimension of 'indices' is k, expected a number",
        ),
        ("gather_nd", [X, PLACES], {"batch_dims": 1}, "vectors of 'indices' have 2 places"),
        (
            "gather_nd",
            [X, rx.Tensor((3, 1), "int64")],
            {"batch_dims": 1},
            "are n and 3, not known to be equal",
        ),
        ("gather_nd", [X, PLACES], {"batch_dims": -1}, "batch_dims is -1"),
        ("gather_nd", [X, rx.Tensor((), "int64")], {}, "expected more than 0 dimensions"),
        ("index_tensor", [X, []], {}, "'indices' is an empty tuple"),
        ("index_tensor", [X, [PLACES, PLACES, PLACES]], {}, "3 tensors of indices for 'data'"),
        ("index_tensor", [X, [PLACES, X]], {}, r"'indices\[1\]' has dtype float32"),
        (
            "index_tensor",
            [X, [rx.Tensor((3,), "int8"), rx.Tensor((4,), "int8")]],
            {},
            "3 and 4 do not broadcast",
        ),
    ],
)
def test_wrong_arguments(
    name: str, operands: Sequence[Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RelaxError, match=f"^{name}: .*{message}"):
        R.infer_rule(name)(*operands, **attributes)
