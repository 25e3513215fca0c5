"""stack, meshgrid, outer, one_hot, eye_like, size and roll against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, INTEGERS, NUMBERS, Suite, numbers
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.legalize import manipulate
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import create_pass


@pytest.mark.parametrize("dtype", ALL)
def test_side_by_side(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    pair = [Tensor(("n", "m"), dtype)] * 2
    for axis in (0, 1, -1):
        suite.add(
            "stack",
            lambda x, y, a=axis: R.stack([x, y, x], a),
            lambda x, y, a=axis: np.stack([x, y, x], a),
            pair,
        )
    suite.add("stack one", lambda x: R.stack([x]), lambda x: x[None], [Tensor((), dtype)])
    vectors = [Tensor((name,), dtype) for name in "nmk"]
    for how in ("ij", "xy"):
        suite.add(
            "grids",
            lambda x, y, z, h=how: R.meshgrid([x, y, z], h),
            lambda x, y, z, h=how: np.meshgrid(x, y, z, indexing=h),
            vectors,
        )
    suite.add(
        "grid of one",
        lambda x, y: R.meshgrid([x, y]),
        lambda x, y: np.meshgrid(x, y, indexing="ij"),
        [vectors[0], Tensor((), dtype)],
    )
    if dtype != "bool":
        suite.add("outer", R.outer, np.multiply.outer, vectors[:2])
    suite.run(test_side_by_side)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
@pytest.mark.parametrize("count", [manipulate.JOINED + 1, 2 * manipulate.JOINED + 2])
def test_many_tensors_are_joined_in_groups(count: int, mode: str) -> None:
    """No prim func gets more than `JOINED` of them; one tensor is given twice, some are empty."""
    sizes: list[int | str] = [0 if i == 3 else "n" if i % 7 == 0 else 2 for i in range(count)]
    bb, xs = (
        rx.BlockBuilder(),
        [rx.Var(f"x{i}", rx.Tensor((2, size), "int8")) for i, size in enumerate(sizes)],
    )
    equal = [i for i, size in enumerate(sizes) if size == 2]
    stacked = [equal[i % len(equal)] for i in range(count)]
    with bb.function("main", xs):
        bb.emit_func_output((R.concat([*xs, xs[0]], axis=1), R.stack([xs[i] for i in stacked], axis=1)))
    module = bb.get()
    legal = create_pass("legalize-ops")(module)
    calls = [op for f in legal.mlir.body.operations for op in ops_of(f.operation, "relax.call_tir")]
    assert max(len(op.operands) for op in calls) <= manipulate.JOINED + 2  # sizes follow the tensors
    arrays = [np.full((2, 3 if size == "n" else int(size)), i % 100, "i1") for i, size in enumerate(sizes)]
    results = [to_numpy(result) for result in rx.build(module, exec_mode=mode)["main"](*arrays)]
    np.testing.assert_array_equal(results[0], np.concatenate([*arrays, arrays[0]], axis=1), strict=True)
    np.testing.assert_array_equal(results[1], np.stack([arrays[i] for i in stacked], axis=1), strict=True)


@pytest.mark.parametrize("dtype", ALL)
def test_roll_and_eye_like(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    matrix = [Tensor(("n", "m"), dtype)]
    shifts: list[tuple[Any, Any]] = [
        (1, 0),
        (-1, 1),
        ((7, -100), (0, 1)),
        ((1, 2), (0, 0)),
        (0, 0),
        (5, None),
    ]
    for shift, axis in shifts:
        suite.add(
            "roll",
            lambda x, s=shift, a=axis: R.roll(x, s, a),
            lambda x, s=shift, a=axis: np.roll(x, s, a),
            matrix,
        )
    suite.add("roll all axes", lambda x: R.roll(x, 3, (0, 1)), lambda x: np.roll(x, 3, (0, 1)), matrix)
    for k in (0, 2, -1):
        suite.add(
            "eye_like",
            lambda x, k=k: R.eye_like(x, k),
            lambda x, k=k: np.eye(*x.shape, k, dtype=x.dtype),
            matrix,
        )
    suite.add("size", R.size, lambda x: np.asarray(x.size, np.int64), matrix)
    suite.run(test_roll_and_eye_like)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_one_hot(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    indices = [Tensor(("n", "m"), dtype)]
    for axis in (0, 1, -1):
        suite.add(
            "hot",
            lambda x, a=axis: R.one_hot(x, 1, 0, 4, a),
            lambda x, a=axis: np.moveaxis((x[..., None] == np.arange(4)).astype(np.int64), -1, a),
            indices,
            draw=numbers(-5, 6),
        )
    suite.add(
        "symbolic depth",
        lambda x: R.one_hot(x, 1.5, -2.0, "n + 1"),
        lambda x: np.where(x[..., None] == np.arange(len(x) + 1), 1.5, -2.0).astype(np.float32),
        indices,
        draw=numbers(-5, 6),
    )
    suite.run(test_one_hot)


@pytest.mark.parametrize("dtype", ALL)
def test_values_of_one_hot(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    suite.add(
        "hot",
        lambda i, on, off: R.one_hot(i, on, off, 3),
        lambda i, on, off: np.where(i[..., None] == np.arange(3), on, off),
        [Tensor(("n",), "int32"), Tensor((), dtype), Tensor((), dtype)],
    )
    suite.run(test_values_of_one_hot)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_scans_from_the_end(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    for exclusive in (False, True):
        for axis in (0, 1, None):
            suite.add(
                "cumsum",
                lambda x, a=axis, e=exclusive: R.cumsum(x, a, exclusive=e, reverse=True),
                lambda x, a=axis, e=exclusive: summed_from_end(x, a, e),
                [Tensor(("n", "m"), dtype)],
                draw=numbers(0, 1.01),
                tolerance=2e-2 if dtype.endswith("16") else None,
            )
    suite.run(test_scans_from_the_end)


def summed_from_end(x: Any, axis: int | None, exclusive: bool) -> Any:
    if axis is None:
        x, axis = x.reshape(-1), 0
    found = np.flip(np.cumsum(np.flip(x, axis), axis, dtype=x.dtype), axis)
    return found - x if exclusive else found


X, V = rx.Tensor(("n", 4), "float32"), rx.Tensor((3,), "float32")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("stack", [[X, X]], {"axis": -1}, 'Tensor((n, 4, 2), "float32")'),
        ("stack", [[rx.Tensor((None, 4)), X]], {}, 'Tensor((2, n, 4), "float32")'),
        ("stack", [[rx.Tensor(None), rx.Tensor(None)]], {}, 'Tensor(?, "float32")'),
        ("meshgrid", [[V, rx.Tensor(("n",))]], {}, None),
        ("outer", [V, rx.Tensor(("n",))], {}, 'Tensor((3, n), "float32")'),
        ("one_hot", [rx.Tensor(("n",), "int8"), 1, 0, "2*n"], {"axis": 0}, 'Tensor((2*n, n), "int64")'),
        ("eye_like", [rx.Tensor(None)], {"dtype": "int8"}, 'Tensor((?, ?), "int8")'),
        ("size", [rx.Tensor(None)], {}, 'Tensor((), "int64")'),
        ("roll", [X, [1, 2]], {"axis": [0, 1]}, 'Tensor((n, 4), "float32")'),
    ],
)
def test_shapes(name: str, operands: Sequence[Any], attributes: dict[str, Any], expected: str | None) -> None:
    grids = 'Tuple([Tensor((3, n), "float32"), Tensor((3, n), "float32")])'
    assert str(R.infer_rule(name)(*operands, **attributes)) == (expected or grids)


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        ("stack", [[]], {}, "no tensors given"),
        ("stack", [[X, V]], {}, "expected rank 2"),
        ("stack", [[X, rx.Tensor(("n", 5))]], {}, "dimension 1 of the first tensor .* are 4 and 5"),
        ("stack", [[X, rx.Tensor(("m", 4))]], {}, "are n and m, not known to be equal; match_shape"),
        ("stack", [[X, rx.Tensor(("n", 4), "int8")]], {}, "float32 and int8"),
        ("stack", [[X, X]], {"axis": 3}, "axis 3 is out of range"),
        ("meshgrid", [[X]], {}, "expected rank 1 or 0"),
        ("meshgrid", [[V]], {"indexing": "yx"}, "indexing is 'yx', expected ij or xy"),
        ("outer", [X, V], {}, "'x1' is .*, expected a vector"),
        ("outer", [rx.Tensor((3,), "bool"), rx.Tensor((3,), "bool")], {}, "has dtype bool"),
        ("one_hot", [X, 1, 0, 3], {}, "'indices' has dtype float32"),
        ("one_hot", [rx.Tensor((3,), "int8"), V, 0.0, 3], {}, "'on_value' is .*, expected rank 0"),
        ("one_hot", [rx.Tensor((3,), "int8"), 1, 0, 3], {"axis": 2}, "axis 2 is out of range"),
        ("eye_like", [V], {}, "expected a matrix"),
        ("roll", [X, [1, 2]], {"axis": 0}, "2 shifts for 1 axes"),
        ("roll", [X, 1], {"axis": 2}, "axis 2 is out of range"),
        ("roll", [X, 1.5], {}, "'shift' is 1.5"),
    ],
)
def test_wrong_arguments(
    name: str, operands: Sequence[Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RelaxError, match=f"{name}: .*{message}"):
        R.infer_rule(name)(*operands, **attributes)
