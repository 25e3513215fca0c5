"""Uses of ops that move, select or create elements, and of windows."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from every_op_arrays import Spec, flags, floats, integers, use
from reference import OPS
from relax_mlir import op as R
from scipy import special


def movement() -> dict[str, Spec]:
    """Ops that move, select or create elements."""
    any_dtype = [[floats(2, 3)], [integers(2, 3)], [floats(1, 4, dtype=ml_dtypes.bfloat16)]]
    three = [[floats(2, 1)], [floats(1, 3)], [floats(1, 1)], [floats(2, 1, 1, dtype="f8")]]
    return {
        "astype": use("astype", [*any_dtype, [flags(3)], [floats()]], "float64"),
        "where": use("where", [[flags(2, 1), floats(2, 3), floats(3)], [flags(4), integers(1), integers(4)]]),
        "clip": use("clip", [[floats(3) * 9], [integers(2, 3, dtype="u1")]], 2, 4),
        "clip:float": use("clip", [[floats(3, dtype="f8")]], 0.25, None),
        "ewise_fma": use("ewise_fma", [[floats(2, 1), floats(1, 3), floats(3)], [integers(2)] * 3]),
        "full_like": (
            lambda x, v: R.full_like(x, v, "float32"),
            lambda x, v: np.full_like(x, v, np.float32),
            [[floats(2, 3), integers()], [flags(0), floats()]],
        ),
        "ones_like": use("ones_like", any_dtype),
        "zeros_like": use("zeros_like", any_dtype),
        "ones_like:dtype": use("ones_like", any_dtype, "int8"),
        "full": (
            lambda x, v: R.full(R.shape_of(x), v),
            lambda x, v: np.full(x.shape, v),
            [[floats(2, 3), integers()], [flags(), floats()]],
        ),
        "ones": (lambda x: R.ones(R.shape_of(x), "int32"), lambda x: np.ones(x.shape, np.int32), any_dtype),
        "zeros": (lambda x: R.zeros(R.shape_of(x)), lambda x: np.zeros(x.shape, np.float32), any_dtype),
        "tril": use("tril", [*any_dtype, [floats(2, 3, 4)]], 1),
        "triu": use("triu", any_dtype),
        "reshape": (
            lambda x, y: R.reshape(x, R.shape_of(y)),
            lambda x, y: x.reshape(y.shape),
            [[floats(2, 3), floats(3, 1, 2)], [integers(1), flags()]],
        ),
        "reshape:known": use("reshape", [[floats(6)], [integers(3, 2)]], (2, 3)),
        "flatten": use("flatten", [*any_dtype, [floats()], [floats(2, 0)]]),
        "expand_dims": use("expand_dims", [*any_dtype, [floats()]], [0, -1]),
        "squeeze": use("squeeze", [*three, [floats(2, 2)]]),
        "squeeze:axis": use("squeeze", [[floats(2, 1)], [floats(1)]], -1),
        "permute_dims": use("permute_dims", [*any_dtype, [floats(2, 3, 4)], [floats()]]),
        "permute_dims:axes": use("permute_dims", [[floats(2, 3, 4)]], [1, 2, 0]),
        "broadcast_to": (
            lambda x, y: R.broadcast_to(x, R.shape_of(y)),
            lambda x, y: np.broadcast_to(x, y.shape),
            [[floats(3), floats(2, 3)], [integers(2, 1), flags(4, 2, 5)], [floats(), floats(0)]],
        ),
        "concat": use(
            "concat",
            [[floats(2, 3), floats(4, 3)], [integers(3), integers(0)], [flags(1, 1), flags(1, 1)]],
            0,
            joined=True,
        ),
        "split": use("split", [[floats(4, 3)], [integers(5)], [floats(1)]], 2),
        "split:at": use("split", [[floats(2, 4)], [integers(2)]], [1, 3], -1),
        "take": use(
            "take",
            [[floats(5, 2), integers(3)], [integers(2), integers(2, 2, dtype="u1")], [floats(7), integers()]],
            0,
        ),
        "take:flat": use("take", [[floats(2, 3), integers(4)]]),
        "strided_slice": use(
            "strided_slice", [[floats(7, 2)], [integers(5)], [floats(1)]], [0], [1], [-1], [2]
        ),
        **{
            f"nn.{kind}_pool{count}d": use(
                f"nn.{kind}_pool{count}d", [[floats(1, 2, *(4, 3, 2)[:count])]], 2, 2
            )
            for kind in ("max", "avg")
            for count in (1, 2, 3)
        },
        "nn.batch_norm": use(
            "nn.batch_norm", [[floats(2, 3, 4), *(floats(3) for _ in range(4))]], 1, training=False
        ),
        "sort": use("sort", any_dtype, 0),
        "argsort": use("argsort", any_dtype, 0),
        "topk": use("topk", any_dtype, 2, 0, "values"),
        "flip": use("flip", any_dtype, -1),
        "tile": use("tile", any_dtype, (2, 3)),
        "repeat": use("repeat", any_dtype, 2, 0),
        "repeat:flat": use("repeat", any_dtype, 3),
        "nn.conv2d": use(
            "nn.conv2d",
            [[floats(2, 3, 5, 4), floats(4, 3, 2, 3)], [floats(1, 1, 2, 3), floats(1, 1, 1, 1)]],
            (2, 1),
            (0, 1, 1, 0),
        ),
        "nn.conv1d": use(
            "nn.conv1d", [[floats(2, 3, 5), floats(4, 3, 2)], [integers(1, 2, 3), integers(1, 2, 3)]]
        ),
        "nn.conv3d": use("nn.conv3d", [[floats(1, 2, 3, 1, 4), floats(2, 1, 2, 1, 3)]], groups=2),
        "einsum": use(
            "einsum",
            [[floats(2, 3), floats(3, 4)], [floats(5, 2, 3, dtype="f8"), floats(1, 3, 2, dtype="f8")]],
            "...ij,...jk->...ik",
            joined=True,
        ),
        "einsum:three": use(
            "einsum",
            [[floats(2, 3), floats(3), floats(4, 3)], [integers(2, 1), integers(1), integers(3, 1)]],
            "ij,j,kj->ki",
            joined=True,
        ),
        "logsumexp": (
            lambda x: R.logsumexp(x, 0),
            lambda x: special.logsumexp(x, 0) if x.size else np.full(x.shape[1:], -np.inf),
            [[floats(2, 3)], [floats(4, 1, dtype="f8")], [floats(3, dtype="f2")]],
        ),
        "median": use("median", any_dtype, 0),
        "median:all": use("median", [*any_dtype, [floats()]]),
        "searchsorted": use(
            "searchsorted", [[np.sort(floats(5)), floats(2, 3)], [np.sort(integers(4)), integers()]], True
        ),
        "bucketize": use(
            "bucketize",
            [[floats(2, 3), np.sort(floats(5))], [integers(3), np.sort(integers(7))]],
            out_int32=True,
        ),
        "multinomial_from_uniform": use(
            "multinomial_from_uniform",
            [[floats(7, 3), floats(4, 1), integers(4, 1)], [floats(8, 1), floats(2, 1), integers(2, 1)]],
        ),
        "random.words": (
            lambda state: R.random.words(state, 7)[0],
            lambda state: OPS["random.words"](state, 7)[0],
            [[np.array([2**63 + 5, 7, 0], np.uint64)]],
        ),
        "collapse_sum_like": (
            R.collapse_sum_like,
            lambda x, y: x.sum((0, 1), dtype=x.dtype)[None],
            [[floats(5, 2, 3), floats(1, 3)], [integers(4, 3, 1), integers(1, 1)]],
        ),
        "collapse_sum_to": (
            lambda x, y: R.collapse_sum_to(x, R.shape_of(y)),
            lambda x, y: x.sum(0, dtype=x.dtype),
            [[floats(5, 2), floats(2)], [integers(4, 3), integers(3)]],
        ),
        "dynamic_strided_slice": use(
            "dynamic_strided_slice",
            [
                [floats(7, 3), np.array([-2, 0]), np.array([-7, -1]), np.array([-2, 1])],
                [flags(9), integers(1), integers(1) + 3, integers(1, dtype="u1")],
            ],
        ),
        "layout_transform": (
            lambda x: R.layout_transform(x, lambda i, j: (j // 2, i, j % 2), 0),
            lambda x: np.pad(x, ((0, 0), (0, x.shape[1] % 2))).reshape(len(x), -1, 2).swapaxes(0, 1),
            any_dtype,
        ),
        "stack": use(
            "stack",
            [[floats(2, 3), floats(2, 3)], [integers(4), integers(4)], [flags(0, 2), flags(0, 2)]],
            1,
            joined=True,
        ),
        "meshgrid": use(
            "meshgrid", [[floats(2), integers(3), flags(4)], [floats(1), flags(0), flags(2)]], joined=True
        ),
        "meshgrid:xy": use("meshgrid", [[floats(2), integers(3)]], "xy", joined=True),
        "outer": use("outer", [[floats(2), floats(3)], [integers(4), integers(0)]]),
        "one_hot": (
            lambda x: R.one_hot(x, 2.0, -1.0, 5, 0),
            lambda x: OPS["one_hot"](x, 2, -1, 5, 0).astype(np.float32),
            [[integers(2, 3)], [integers(4, dtype="u1")], [integers()]],
        ),
        "eye_like": use("eye_like", [[floats(2, 3)], [flags(4, 1)], [integers(3, 3)]], 1, "int32"),
        "size": use("size", [[floats(2, 3)], [flags(0)], [integers()]]),
        "roll": use("roll", any_dtype, 2, -1),
        "roll:flat": use("roll", [*any_dtype, [floats()]], -4),
        "slice_scatter": use(
            "slice_scatter", [[floats(8, 2), floats(3, 2)], [integers(6), integers(3)]], 1, 6, 2
        ),
        "reverse_sequence": use(
            "reverse_sequence", [[floats(3, 4), integers(3)], [flags(1, 7, 2), integers(1, dtype="u1")]]
        ),
        "gather_elements": use(
            "gather_elements", [[floats(2, 8), integers(2, 3)], [flags(1, 7), integers(1, 9, dtype="u1")]], 1
        ),
        "gather_nd": use(
            "gather_nd",
            [[floats(7, 8), integers(3, 2)], [floats(7, 2), integers(2, 1)], [floats(7), integers(1)]],
        ),
        "index_tensor": (
            lambda x, i, j: R.index_tensor(x, [i, j]),
            lambda x, i, j: OPS["index_tensor"](x, [i, j]),
            [[floats(7, 8), integers(3), integers(2, 1)], [flags(7, 7, 2), integers(), integers(1)]],
        ),
        "scatter_elements": use(
            "scatter_elements",
            [
                [floats(7, 3), integers(12, 2), floats(12, 2)],
                [integers(8, 1), integers(0, 1), integers(0, 1)],
            ],
            0,
            "add",
        ),
        "scatter_nd": use(
            "scatter_nd",
            [[floats(7, 8), integers(3, 2), floats(3)], [floats(7, 2), integers(4, 1), floats(4, 2)]],
        ),
        "index_put": (
            lambda x, i, v: R.index_put(x, [i], v, accumulate=True),
            lambda x, i, v: OPS["index_put"](x, [i], v, accumulate=True),
            [[floats(7, 2), integers(3), floats(2)], [integers(7), integers(4), integers()]],
        ),
        "memory.view": (
            lambda x: R.memory.view(x, (4, 2), "int16", 4),
            lambda x: x.reshape(-1).view(np.int16)[2:10].reshape(4, 2),
            [[integers(5)], [integers(3, 4, dtype=np.int64)], [flags(3, 8)]],
        ),
        "unique": use("unique", [[floats(4)], [integers(3, 5)], [flags(6)], [floats(0)]]),
        "nonzero": use("nonzero", [[flags(4)], [integers(3, 5)], [flags(2, 2, 2)]]),
        "shape_to_tensor": (
            lambda x: R.shape_to_tensor(R.shape_of(x)),
            lambda x: np.array(x.shape, np.int64),
            [[flags(4, 2)], [floats()]],
        ),
        "tensor_to_shape": (
            lambda x: R.shape_to_tensor(R.tensor_to_shape(x)),
            lambda x: x,
            [[np.array([3, 4])], [np.zeros(0, np.int64)]],
        ),
    }
