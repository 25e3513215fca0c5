"""Top-k as other frameworks define it: exactly k elements, unlike Relax's `topk`."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.symbolic import Dim


def top_k(x: Value, k: Dim, axis: int, largest: bool) -> tuple[Value, Value]:
    """Return the `k` largest or smallest elements of `x` along `axis`, the best first, and their int64 indices.

    A `k` above the number of elements is an error, raised at run time if sizes are unknown.

    Raises:
        ShapeError: `k` is negative, or more than the size of the dimension.
    """
    info = x.struct_info
    assert isinstance(info, Tensor) and info.known_shape is not None
    size = info.known_shape[axis]
    if (isinstance(k, int) and k < 0) or symbolic.prove_less_equal(size + 1, k):
        raise ShapeError(f"k is {k}, but dimension {axis} has {size} elements")
    if isinstance(k, int) and k > 0:
        both = R.topk(x, k, axis, "both", largest, "int64")
        found = R.tuple_get_item(both, 0), R.tuple_get_item(both, 1)
    else:
        values, indices = R.sort(x, axis, largest), R.argsort(x, axis, largest, "int64")
        found = R.strided_slice(values, [axis], [0], [k]), R.strided_slice(indices, [axis], [0], [k])
    if symbolic.prove_less_equal(k, size):
        return found
    shape = [k if number == axis else dim for number, dim in enumerate(info.known_shape)]
    return R.match_shape(found[0], shape), R.match_shape(found[1], shape)
