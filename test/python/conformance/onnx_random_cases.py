"""Cases with random numbers, on which implementations differ: the properties that are checked instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Arrays = Sequence[np.ndarray[Any, Any]]


def _zeros_and_ones(wanted: Arrays, found: Arrays) -> None:
    assert np.isin(found[0], [0, 1]).all(), f"elements besides 0 and 1: {found[0]}"


def _dropped(ratio: float) -> Callable[[Arrays, Arrays], None]:
    def check(wanted: Arrays, found: Arrays) -> None:
        """Elements kept by both are equal, the mask matches the kept elements, and the dropped share is `ratio`."""
        kept = found[0] != 0
        both = kept & (wanted[0] != 0)
        np.testing.assert_allclose(found[0][both], wanted[0][both], rtol=1e-6)
        assert both.any()
        if len(found) > 1:
            np.testing.assert_array_equal(found[1], kept)
        error = np.sqrt(ratio * (1 - ratio) / kept.size)
        assert abs(kept.mean() - (1 - ratio)) < 5 * error, f"{kept.mean()} of the elements are kept"

    return check


CHECKS: dict[str, Callable[[Arrays, Arrays], None]] = {
    **{
        f"test_bernoulli{kind}{form}": _zeros_and_ones
        for kind in ("", "_double", "_seed")
        for form in ("", "_expanded")
    },
    **{
        f"test_training_dropout{kind}{mask}": _dropped(ratio)
        for kind, ratio in (("", 0.75), ("_default", 0.5))
        for mask in ("", "_mask")
    },
}
"""The checks by case name; shapes and dtypes are compared as for all other cases."""


def check(name: str, wanted: Arrays, found: Arrays) -> None:
    """Raise an `AssertionError` if the result of a case with random numbers is impossible."""
    assert len(wanted) == len(found), f"{len(found)} outputs, expected {len(wanted)}"
    for one, other in zip(wanted, found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), f"{other.dtype} of {other.shape}"
    CHECKS[name](wanted, found)
