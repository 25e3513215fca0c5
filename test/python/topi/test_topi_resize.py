"""Images of other sizes against torch, and against ONNX's formulas in NumPy; sums of products by names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from topi_cases import check, random

N, H, W, P, Q = (te.var(name) for name in "nhwpq")
SIZES = ((2, 5, 4, 7, 9), (1, 1, 1, 3, 2), (1, 6, 8, 3, 4), (2, 4, 3, 1, 1))


def coordinate(x: Any, old: int, new: int, mode: str, begin: float, end: float) -> Any:
    """ONNX's formulas."""
    x = x.astype("f4")
    if mode in ("half_pixel", "half_pixel_symmetric"):
        return (x + np.float32(0.5)) * np.float32(old / new) - np.float32(0.5)
    if mode == "pytorch_half_pixel":
        return coordinate(x, old, new, "half_pixel", 0, 1) if new > 1 else x * 0
    if mode == "align_corners":
        return x * np.float32((old - 1) / (new - 1)) if new > 1 else x * 0
    if mode == "asymmetric":
        return x * np.float32(old / new)
    if mode == "tf_half_pixel_for_nn":
        return (x + np.float32(0.5)) * np.float32(old / new)
    if new == 1:
        return x * 0 + np.float32(0.5 * (begin + end) * (old - 1))
    return np.float32(begin * (old - 1)) + x * np.float32((end - begin) * (old - 1) / (new - 1))


def weights_of(x: Any, old: int, method: str, rounding: str, exclude: bool) -> Any:
    """A matrix that computes the new elements from the old ones."""
    found = np.zeros((len(x), old), "f8")
    for row, place in enumerate(x.astype("f8")):
        if method == "nearest_neighbor":
            up, down = np.floor(place + 0.5), np.ceil(place - 0.5)
            at = {"floor": np.floor(place), "ceil": np.ceil(place), "round_prefer_ceil": up}.get(
                rounding, down
            )
            found[row, int(np.clip(at, 0, old - 1))] = 1
            continue
        below = int(np.floor(place))
        if method == "linear":
            taps = {below: 1 - (place - below), below + 1: place - below}
        else:
            taps = {}
            for tap in range(below - 1, below + 3):
                d, a = abs(place - tap), -0.75
                taps[tap] = ((a + 2) * d - (a + 3)) * d * d + 1 if d <= 1 else a * (((d - 5) * d + 8) * d - 4)
            if exclude:
                taps = {tap: weight for tap, weight in taps.items() if 0 <= tap < old}
                taps = {tap: weight / sum(taps.values()) for tap, weight in taps.items()}
        for tap, weight in taps.items():
            found[row, min(max(tap, 0), old - 1)] += weight
    return found


def reference(
    a: Any, new: Any, method: str, mode: str, rounding: str = "", exclude: bool = False, roi: Any = None
) -> Any:
    part = roi or [0, 0, 1, 1]
    found, inside = a.astype("f8"), []
    for axis in range(2):
        old, size = a.shape[2 + axis], new[axis]
        x = coordinate(np.arange(size), old, size, mode, part[axis], part[2 + axis])
        inside.append((x >= 0) & (x <= old - 1))
        matrix = weights_of(x, old, method, rounding, exclude)
        found = np.moveaxis(np.tensordot(matrix, found, (1, 2 + axis)), 0, 2 + axis)
    if mode == "tf_crop_and_resize":
        found = np.where(inside[0][:, None] & inside[1], found, 7.0)
    return found.astype(a.dtype)


def test_modes() -> None:
    """Every coordinate mode, and every method, to sizes given by a tensor."""
    x, like = te.placeholder((N, 2, H, W), name="x"), te.placeholder((P, Q), name="like")
    cases: dict[str, Any] = {}

    def add(method: str, mode: str, **options: Any) -> None:
        given = {
            "rounding_method": options.get("rounding", ""),
            "bicubic_exclude": options.get("exclude", False),
            "extrapolation_value": 7.0,
            "bicubic_alpha": -0.75,
        }
        cases[f"{method} {mode} {options}"] = (
            lambda x, like: topi.image.resize2d(x, options.get("roi"), (P, Q), "NCHW", method, mode, **given),
            lambda a, b: reference(a, b.shape, method, mode, **options),
        )

    modes = (
        *("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"),
        *("pytorch_half_pixel", "tf_half_pixel_for_nn"),
    )
    # Coordinates do not depend on the method, and cubic ones take four times as long to build.
    for mode, method in sweep.product(modes, ("linear", "nearest_neighbor")):
        add(method, mode, **{"rounding": "floor"} if method == "nearest_neighbor" else {})
    add("cubic", "align_corners")
    for rounding in ("round", "round_prefer_ceil", "ceil"):
        add("nearest_neighbor", "half_pixel", rounding=rounding)
    add("cubic", "half_pixel", exclude=True)
    for roi in ([0.2, 0.1, 0.8, 0.9], [-0.3, 0.0, 1.2, 0.5]):
        add("linear", "tf_crop_and_resize", roi=roi)
    arrays = [[random((n, 2, h, w)), np.zeros((p, q), "f4")] for n, h, w, p, q in SIZES]
    check([x, like], cases, arrays, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_as_torch_does() -> None:
    x = te.placeholder((N, 2, H, W), name="x")
    line, cube = te.placeholder((N, 2, W), name="line"), te.placeholder((N, 1, 3, H, W), name="cube")

    def theirs(size: Any, mode: str, **options: Any) -> Any:
        return lambda a: torch.nn.functional.interpolate(torch.tensor(a), size, mode=mode, **options).numpy()

    cases: dict[str, Any] = {
        "linear": (lambda t: topi.image.resize2d(t, None, (7, 3)), theirs((7, 3), "bilinear")),
        "corners": (
            lambda t: topi.image.resize2d(t, None, (7, 3), coordinate_transformation_mode="align_corners"),
            theirs((7, 3), "bilinear", align_corners=True),
        ),
        "nearest": (
            lambda t: topi.image.resize2d(t, None, (7, 3), "NCHW", "nearest_neighbor", "asymmetric"),
            theirs((7, 3), "nearest"),
        ),
        "cubic": (
            lambda t: topi.image.resize2d(t, None, (7, 3), method="cubic", bicubic_alpha=-0.75),
            theirs((7, 3), "bicubic"),
        ),
        "same": (lambda t: topi.image.resize2d(t, None, (H, W)), lambda a: a),
        "float64": (
            lambda t: topi.image.resize2d(t, None, (H, W), out_dtype="float64"),
            lambda a: a.astype("f8"),
        ),
    }
    check(
        [x],
        cases,
        [[random((n, 2, h, w))] for n, h, w in ((2, 5, 4), (1, 1, 1), (1, 9, 2))],
        rtol=1e-4,
        atol=1e-4,
    )
    check(
        [line],
        {"1": (lambda t: topi.image.resize1d(t, None, (5,)), theirs(5, "linear"))},
        [[random((2, 2, 8))], [random((1, 2, 1))]],
        rtol=1e-4,
        atol=1e-4,
    )
    check(
        [cube],
        {"3": (lambda t: topi.image.resize3d(t, None, (2, 4, 5)), theirs((2, 4, 5), "trilinear"))},
        [[random((2, 1, 3, 4, 2))]],
        rtol=1e-4,
        atol=1e-4,
    )


def test_einsum() -> None:
    a, b, c = (
        te.placeholder((N, H), name="a"),
        te.placeholder((H, W), name="b"),
        te.placeholder((N, N), name="c"),
    )
    texts = {
        "ij,jk->ik": "ab",
        "ij,jk": "ab",
        "ij->ji": "a",
        "ij->": "a",
        "ii->i": "c",
        "ii": "c",
        "ij,ij->i": "aa",
        "ij , kj -> ik": "aa",
        "ia,ab,ij->jb": "abc",
        "ij,kl->iklj": "ab",
        "ba": "b",
    }
    cases: dict[str, Any] = {
        text: (
            lambda *tensors, text=text, which=which: topi.einsum(
                text, *(tensors["abc".index(w)] for w in which)
            ),
            lambda *arrays, text=text, which=which: np.einsum(text, *(arrays["abc".index(w)] for w in which)),
        )
        for text, which in texts.items()
    }
    arrays = [
        [random((n, h)), random((h, w), seed=1), random((n, n), seed=2)]
        for n, h, w in ((3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 0, 3))
    ]
    check([a, b, c], cases, arrays, rtol=1e-4, atol=1e-4)


def test_mistakes() -> None:
    x, i = te.placeholder((N, 2, H, W), name="x"), te.placeholder((N, 2, H, W), "int32", "i")
    m = te.placeholder((N, H), name="m")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.image.resize2d(i, None, (2, 2)), DTypeError, "does not hold floats"),
        (lambda: topi.image.resize2d(x, None, (2,)), ShapeError, "1 sizes for"),
        (lambda: topi.image.resize2d(x, None, (2, 2), "NHWX"), ArgumentError, "the layout is 'NHWX'"),
        (lambda: topi.image.resize2d(x, None, (2, 2), method="area"), ArgumentError, "'method' is 'area'"),
        (
            lambda: topi.image.resize2d(x, None, (2, 2), coordinate_transformation_mode="x"),
            ArgumentError,
            "'coordinate_transformation_mode' is 'x'",
        ),
        (
            lambda: topi.image.resize2d(x, None, (2, 2), rounding_method="x"),
            ArgumentError,
            "'rounding_method' is 'x'",
        ),
        (
            lambda: topi.image.resize2d(
                x, [0.0], (2, 2), coordinate_transformation_mode="tf_crop_and_resize"
            ),
            ArgumentError,
            "'roi' has 1 numbers, expected 4",
        ),
        (lambda: topi.einsum("ij,jk->ik", m), ShapeError, "does not fit the 1 operands"),
        (lambda: topi.einsum("ij,ji", m, m), ShapeError, "the axis '.' is . and ., not known to be equal"),
        (lambda: topi.einsum("i..j", m), ArgumentError, "are not all letters"),
        (lambda: topi.einsum("ij->iij", m), ArgumentError, "names an axis twice"),
        (lambda: topi.einsum("ij->k", m), ArgumentError, "one that no operand has"),
        (lambda: topi.einsum(3, m), ArgumentError, "expected text"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
