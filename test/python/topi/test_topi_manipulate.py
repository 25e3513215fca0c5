"""Elements reordered or moved, and tensors created without inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.topi import tag
from topi_cases import check, random

N, M = te.var("n"), te.var("m")
SHAPES = ((3, 4, 5), (1, 4, 1), (0, 4, 2), (2, 4, 0), (5, 4, 7))


def test_shapes_and_orders() -> None:
    x = te.placeholder((N, 4, M), name="x")
    cases: dict[str, Any] = {
        "transpose": (topi.transpose, np.transpose),
        "transpose 0 2 1": (lambda t: topi.transpose(t, (0, 2, -2)), lambda a: a.transpose(0, 2, 1)),
        "reshape": (
            lambda t: topi.reshape(t, (M, N, 2, 2)),
            lambda a: a.reshape(a.shape[2], a.shape[0], 2, 2),
        ),
        "reshape -1": (
            lambda t: topi.reshape(t, (-1, 2)),
            lambda a: a.reshape(a.shape[0] * a.shape[2] * 2, 2),
        ),
        "flatten": (lambda t: topi.reshape(t, (N * M * 4,)), np.ravel),
        "expand_dims": (lambda t: topi.expand_dims(t, 1, 2), lambda a: a[:, None, None]),
        "expand_dims last": (lambda t: topi.expand_dims(t, -1), lambda a: a[..., None]),
        "squeeze": (lambda t: topi.squeeze(topi.expand_dims(t, 1)), lambda a: a),
        "squeeze axis": (
            lambda t: topi.squeeze(topi.expand_dims(topi.expand_dims(t, 0), -1), -1),
            lambda a: a[None],
        ),
        "tile": (lambda t: topi.tile(t, (2, 1, 3)), lambda a: np.tile(a, (2, 1, 3))),
        "tile more": (lambda t: topi.tile(t, (2, 1, 1, 2)), lambda a: np.tile(a, (2, 1, 1, 2))),
        "tile less": (lambda t: topi.tile(t, 2), lambda a: np.tile(a, 2)),
        "repeat": (lambda t: topi.repeat(t, 3, 1), lambda a: np.repeat(a, 3, 1)),
        "repeat n": (lambda t: topi.repeat(t, N, -1), lambda a: np.repeat(a, a.shape[0], -1)),
        "flip": (lambda t: topi.flip(t, -1), lambda a: np.flip(a, -1)),
        "flip 0": (topi.flip, lambda a: np.flip(a, 0)),
        "trilu": (lambda t: topi.trilu(t, 1, True), lambda a: np.triu(a, 1)),
        "trilu below": (lambda t: topi.trilu(t, -1, False), lambda a: np.tril(a, -1)),
    }
    check([x], cases, [[random(shape)] for shape in SHAPES])
    assert topi.transpose(x).op.tag == tag.INJECTIVE


SLICES: tuple[Any, ...] = (
    ((0,), (2,), None, None),
    ((1, 0), (100, 3), None, (2, 1)),
    ((-3,), (-1,), (1,), (-1,)),
    ((-1, 3), (-100, 0), (-1, -2), (0, 1)),
    ((100,), (0,), (-2,), (2,)),
    ((2,), (1,), None, (0,)),
    ((0, 0, 0), (5, 4, 9), (2, 3, 4), None),
)


def _sliced(a: Any, begin: Any, end: Any, strides: Any, axes: Any) -> Any:
    at = [slice(None)] * a.ndim
    for n, (first, last) in enumerate(zip(begin, end, strict=True)):
        at[axes[n] if axes else n] = slice(first, last, strides[n] if strides else None)
    return a[tuple(at)]


def test_slices() -> None:
    x = te.placeholder((N, 4, M), name="x")
    cases: dict[str, Any] = {
        f"slice {given}": (
            lambda t, given=given: topi.strided_slice(t, *given),
            lambda a, given=given: _sliced(a, *given),
        )
        for given in SLICES
    }
    cases["size"] = (
        lambda t: topi.strided_slice(t, (1, 0), (2, -1), axes=(1, 0), slice_mode="size"),
        lambda a: a[:, 1:3],
    )
    cases["symbols"] = (
        lambda t: topi.strided_slice(t, (te.floordiv(M, 2),), (M,), axes=(2,)),
        lambda a: a[:, :, a.shape[2] // 2 :],
    )
    cases["split"] = lambda t: topi.split(t, 2, 1), lambda a: np.split(a, 2, 1)
    cases["split at"] = lambda t: topi.split(t, (1, 3), 2), lambda a: np.split(a, (1, 3), 2)
    cases["split at n"] = lambda t: topi.split(t, (N,), 2), lambda a: np.split(a, (a.shape[0],), 2)
    check([x], cases, [[random(shape)] for shape in SHAPES])


def test_several_tensors() -> None:
    x, y = te.placeholder((N, M), "int32", "x"), te.placeholder((N, 2), "int32", "y")
    z = te.placeholder((M,), "int32", "z")
    cases: dict[str, Any] = {
        "concatenate": (
            lambda x, y, z: topi.concatenate([x, y, x], 1),
            lambda x, y, z: np.concatenate([x, y, x], 1),
        ),
        "concatenate 0": (lambda x, y, z: topi.concatenate((x, x)), lambda x, y, z: np.concatenate([x, x])),
        "concatenate one": (lambda x, y, z: topi.concatenate([z], -1), lambda x, y, z: z),
        "stack": (lambda x, y, z: topi.stack([x, x], 1), lambda x, y, z: np.stack([x, x], 1)),
        "stack last": (lambda x, y, z: topi.stack([z, z, z], -1), lambda x, y, z: np.stack([z, z, z], -1)),
        "meshgrid": (
            lambda x, y, z: topi.meshgrid([z, topi.reshape(y, (N * 2,))]),
            lambda x, y, z: np.meshgrid(z, y.ravel(), indexing="ij"),
        ),
        "meshgrid xy": (
            lambda x, y, z: topi.meshgrid([z, topi.reshape(y, (N * 2,))], "xy"),
            lambda x, y, z: np.meshgrid(z, y.ravel(), indexing="xy"),
        ),
        "full": (
            lambda x, y, z: topi.full((N, 3), "float16", 2.5),
            lambda x, y, z: np.full((len(x), 3), 2.5, "f2"),
        ),
        "full_like": (lambda x, y, z: topi.full_like(x, 7), lambda x, y, z: np.full_like(x, 7)),
        "arange": (lambda x, y, z: topi.arange(N, dtype="int64"), lambda x, y, z: np.arange(len(x))),
        "arange step": (
            lambda x, y, z: topi.arange(2, N, 3, "int32"),
            lambda x, y, z: np.arange(2, len(x), 3),
        ),
        "arange down": (lambda x, y, z: topi.arange(N, 0, -2), lambda x, y, z: np.arange(len(x), 0, -2.0)),
        "arange of floats": (
            lambda x, y, z: topi.arange(0.5, 3, 0.75),
            lambda x, y, z: np.arange(0.5, 3, 0.75),
        ),
        "one_hot": (
            lambda x, y, z: topi.one_hot(z, 1, 0, 4, dtype="int8"),
            lambda x, y, z: (z[:, None] == np.arange(4)).astype("i1"),
        ),
        "one_hot first": (
            lambda x, y, z: topi.one_hot(x, 2.5, -1.0, N, 0),
            lambda x, y, z: np.where(
                x[None] == np.arange(len(x))[:, None, None], np.float32(2.5), np.float32(-1)
            ),
        ),
    }
    arrays = [
        [random((n, m), "int32"), random((n, 2), "int32", 1), random((m,), "int32", 2)]
        for n, m in ((3, 5), (1, 1), (0, 2), (2, 0), (8, 3))
    ]
    check([x, y, z], cases, arrays)


def test_mistakes() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((N, M), "int32", "i")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.transpose(x, (0, 0)), ShapeError, r"'axes' is \[0, 0\], no order of 2 dimensions"),
        (lambda: topi.reshape(x, (N, 3)), ShapeError, r"do not have the shape \(n, 3\), as far as is known"),
        (lambda: topi.reshape(x, (-1, -1)), ShapeError, "-1 more than once"),
        (lambda: topi.reshape(x, (-1, 0)), ShapeError, "beside a size of 0"),
        (lambda: topi.reshape(x, (1.5,)), ArgumentError, "1.5 .* is no integer and no size"),
        (lambda: topi.squeeze(x, 0), ShapeError, "dimension 0 of .* is not known to be 1"),
        (lambda: topi.expand_dims(x, 5), ShapeError, "axis 5 of a tensor of 3 dimensions"),
        (lambda: topi.expand_dims(x, 0, -1), ArgumentError, "'num_newaxis' is -1"),
        (lambda: topi.concatenate([x, i]), DTypeError, "float32, int32; cast them to one"),
        (lambda: topi.concatenate([]), ArgumentError, "there is no tensor"),
        (lambda: topi.concatenate([x, topi.transpose(x)]), ShapeError, "differ beside dimension 0"),
        (lambda: topi.repeat(x, -1, 0), ArgumentError, "'repeats' is -1, expected 0 or more"),
        (lambda: topi.split(x, 2), ShapeError, "n is not known to be divisible in 2 parts"),
        (lambda: topi.strided_slice(x, (0,), (1, 2)), ShapeError, "1 begins, 2 ends"),
        (lambda: topi.strided_slice(x, (0,), (1,), (0,)), ArgumentError, "integers other than 0"),
        (lambda: topi.strided_slice(x, (0,), (1,), slice_mode="x"), ArgumentError, "'slice_mode' is 'x'"),
        (lambda: topi.trilu(topi.arange(3), 0, True), ShapeError, "has no two dimensions"),
        (lambda: topi.arange(0, N, M), ArgumentError, "'step' is m, expected an integer"),
        (lambda: topi.arange(0.5, N), ArgumentError, "are not three numbers"),
        (lambda: topi.meshgrid([x]), ArgumentError, "tensors of one dimension"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
