"""Operators of `topi` against the reference: many in one prim func, over several sizes."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
import sweep
from harness import tensor
from reference import OPS
from reference_values import Inexact, convert, held_dtype
from relax_mlir import symbolic, te, topi
from relax_mlir.dialects.dtypes import dtype as dtype_of
from relax_mlir.te.prim_func import build

Array = Any
Cases = Mapping[str, Any]
"""By name: an operator on tensors and its reference, or a function of `topi`, or of what computes as it, and tensors.

Parameters are some of the inputs, by name, or all of them.
"""
TOGETHER = 4
"""Cases of one prim func: LLVM takes more than twice as long for a function that is twice as long."""


def _take(a: Array, indices: Array, axis: int | None, batch_dims: int, mode: str) -> Array:
    if not batch_dims:
        return OPS["take"](a, indices, axis, "wrap" if mode == "fast" else mode)
    rows = [OPS["take"](row, places, axis - batch_dims, mode) for row, places in zip(a, indices, strict=True)]
    return np.stack(rows)


def _slice(a: Array, begin: Any, end: Any, strides: Any, axes: Any, slice_mode: str) -> Array:
    axes = range(len(begin)) if axes is None else axes
    return OPS["strided_slice"](a, list(axes), begin, end, strides)


def _pad(mode: str) -> Callable[..., Array]:
    def pad(data: Array, pad_before: Any, pad_after: Any, pad_value: Any = 0) -> Array:
        pairs = [*zip(pad_before, pad_before if pad_after is None else pad_after, strict=True)]
        return OPS["nn.pad"](data, pairs, mode, pad_value)

    return pad


def _matmul(a: Array, b: Array, transp_a: bool, transp_b: bool) -> Array:
    return np.matmul(*(x.swapaxes(-1, -2) if t else x for x, t in ((a, transp_a), (b, transp_b))))


def _pool(count: int) -> Callable[..., Any]:
    def pool(
        data: Any, kernel: Any, stride: Any, dilation: Any, padding: Any, pool_type: str, ceil_mode: bool, layout: Any,
        count_include_pad: bool,
    ) -> Any:  # fmt: skip
        given = kernel, stride, padding, dilation, ceil_mode, count_include_pad, layout
        return OPS[f"nn.{pool_type}_pool{count}d"](data, *given)

    return pool


def _convolution(layout: str = "", kernel: str = "") -> Callable[..., Any]:
    """A convolution whose parameters have any of the names that `topi` has for them."""

    def convolve(*_: Any, **given: Any) -> Any:
        data, weight, stride, padding, dilation, *_ = given.values()
        data_layout = given.get("data_layout", layout) or None
        kernel_layout = given.get("kernel_layout", kernel) or None
        groups = given.get("groups", 1)
        return OPS["nn.conv2d"](data, weight, stride, padding, dilation, groups, data_layout, kernel_layout)

    return convolve


def _transposed(data: Any, kernel: Any, stride: Any, padding: Any, out_dtype: Any, more: Any, groups: int = 1) -> Any:
    return OPS["nn.conv2d_transpose"](data, kernel, stride, padding, more, 1, groups)


def _resize(
    data: Any, roi: Any, size: Any, layout: Any, method: str, coordinate_transformation_mode: str, rounding_method: str,
    bicubic_alpha: float, bicubic_exclude: Any, extrapolation_value: float, out_dtype: Any, scales: Any,
) -> Any:  # fmt: skip
    given = (
        coordinate_transformation_mode,
        rounding_method,
        bicubic_alpha,
        bicubic_exclude,
        extrapolation_value,
    )
    return OPS["image.resize2d"](data, size, roi, layout, method, *given, out_dtype, scales)


def lrn(data: Array, size: int, axis: int, alpha: float, beta: float, bias: float) -> Array:
    """ONNX's formula of LRN."""
    x = np.moveaxis(data.astype(np.float64), axis, 0)
    found = np.empty_like(x)
    for c in range(len(x)):
        begin, end = max(0, c - (size - 1) // 2), c + -(-(size - 1) // 2) + 1
        found[c] = x[c] / (bias + alpha / size * (x[begin:end] ** 2).sum(0)) ** beta
    return np.moveaxis(found, 0, axis)


TOPI: dict[str, Callable[..., Any]] = {
    "identity": lambda x: x,
    "cast": convert,
    "clip": lambda x, a_min, a_max: OPS["clip"](x, a_min, a_max),
    "mod": np.fmod,
    "trunc_mod": np.fmod,
    "divide": lambda lhs, rhs: lhs / rhs if lhs.dtype.kind == "f" else np.trunc(lhs / rhs),
    "trunc_divide": lambda lhs, rhs: np.trunc(lhs / rhs),
    "transpose": np.transpose,
    "expand_dims": lambda a, axis, n: np.expand_dims(a, tuple(axis % (a.ndim + 1) + i for i in range(n))),
    "flip": np.flip,
    "trilu": lambda data, k, upper: (np.triu if upper else np.tril)(data, k),
    "concatenate": lambda a_tuple, axis: np.concatenate(a_tuple, axis),
    "full": lambda shape, dtype, value: np.full(shape, value, held_dtype(dtype)),
    "full_like": np.full_like,
    "arange": OPS["arange"],
    "one_hot": lambda i, on, off, depth, axis, dtype: OPS["one_hot"](i, on, off, depth, axis).astype(held_dtype(dtype)),
    "strided_slice": _slice,
    "take": _take,
    "embedding": lambda table, indices: np.take(table, indices, 0),
    "gather": lambda data, axis, indices, *_: OPS["gather_elements"](data, indices, axis),
    "gather_nd": lambda a, i, batch: OPS["gather_nd"](a, np.moveaxis(i, 0, -1), batch),
    "adv_index": OPS["index_tensor"],
    "index_tensor": lambda data, indices, *_: OPS["index_tensor"](data, indices),
    "index_put": lambda data, i, values, accumulate, *_: OPS["index_put"](data, i, values, accumulate),
    "scatter_elements": lambda data, i, new, axis, how, *_: OPS["scatter_elements"](data, i, new, axis, how),
    "scatter_nd": lambda data, i, new, mode: OPS["scatter_nd"](data, np.moveaxis(i, 0, -1), new, mode),
    **{
        name: lambda data, axis, keep, last, name=name: getattr(np, name)(data, axis=axis, keepdims=keep)
        for name in ("argmax", "argmin")
    },
    "sort": lambda data, axis, up: OPS["sort"](data, axis, not up),
    "argsort": lambda data, axis, up, dtype: OPS["argsort"](data, axis, not up, dtype),
    "topk": lambda data, k, axis, kind, up, dtype: OPS["topk"](data, k, axis, kind, not up, dtype),
    "cumsum": lambda data, axis, dtype, exclusive: OPS["cumsum"](data, axis, dtype, bool(exclusive)),
    "cumprod": lambda data, axis, dtype, exclusive: OPS["cumprod"](data, axis, dtype, bool(exclusive)),
    "bucketize": lambda x, boundaries, right, dtype: OPS["searchsorted"](boundaries, x, right, dtype),
    "collapse_sum": OPS["collapse_sum_to"],
    "shape": lambda array, dtype: np.array(array.shape),
    "tensor_size": lambda array, dtype: np.array(array.size),
    "tensordot": np.tensordot,
    "elemwise_sum": sum,
    "matmul": _matmul,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _matmul,
    "nn.dense": lambda a, b, bias, dtype, ta, tb: (
        _matmul(*(x.astype(dtype or x.dtype) for x in (a, b)), ta, tb) + (0 if bias is None else bias)
    ),
    "nn.leaky_relu": OPS["nn.leakyrelu"],
    "nn.pad": _pad("constant"),
    "nn.edge_pad": _pad("edge"),
    "nn.wrap_pad": _pad("wrap"),
    "nn.mirror_pad": lambda data, before, after, mode: _pad(mode.lower())(data, before, after),
    "nn.batch_norm": lambda *xs: OPS["nn.batch_norm"](*xs[:9], xs[10], xs[9]),
    "nn.pixel_shuffle": lambda data, factor, name: OPS["nn.pixel_shuffle"](data, factor),
    "nn.flatten": OPS["nn.batch_flatten"],
    **{f"nn.pool{count}d": _pool(count) for count in (1, 2, 3)},
    "nn.global_pool": lambda data, kind, layout: getattr(data, {"avg": "mean"}.get(kind, kind))(
        tuple(layout.index(c) for c in layout if c not in "NC"), keepdims=True
    ),
    **{
        f"nn.adaptive_pool{count}": lambda data, size, kind, layout: OPS[f"nn.adaptive_{kind}_pool2d"](
            data, size, layout
        )
        for count in ("", "1d", "3d")
    },
    **{f"nn.{name}": _convolution() for name in ("conv1d", "conv2d", "conv3d", "conv2d_nchw", "conv3d_ncdhw")},
    **{f"nn.{name}": _convolution() for name in ("group_conv1d_ncw", "group_conv2d_nchw")},
    **{f"nn.{name}": _convolution("NWC", "WIO") for name in ("conv1d_nwc", "group_conv1d_nwc")},
    **{f"nn.{name}": _convolution("NHWC", "HWIO") for name in ("conv2d_nhwc", "group_conv2d_nhwc")},
    "nn.conv2d_hwcn": _convolution("HWCN", "HWIO"),
    "nn.conv3d_ndhwc": _convolution("NDHWC", "DHWIO"),
    "nn.conv_transpose": lambda *xs: OPS["nn.conv2d_transpose"](*xs[:7]),
    **{f"nn.{name}": _transposed for name in ("conv2d_transpose_nchw", "group_conv1d_transpose_ncw")},
    **{f"nn.{name}": _transposed for name in ("group_conv2d_transpose_nchw", "group_conv3d_transpose_ncdhw")},
    **{f"image.resize{count}d": _resize for count in (1, 2, 3)},
    "vision.roi_align": lambda x, r, size, scale, mode, *rest: OPS["vision.roi_align"](x, r, size, scale, *rest, mode),
    "vision.roi_align_nhwc": lambda x, r, size, scale, mode, ratio, aligned: OPS["vision.roi_align"](
        x, r, size, scale, ratio, aligned, "NHWC", mode
    ),
    "vision.multibox_transform_loc": lambda c, m, a, variances, clip, *rest: OPS["vision.multibox_transform_loc"](
        c, m, a, clip, rest[0], variances, rest[1]
    ),
    "nn.lrn": lrn,
    "einsum": lambda subscripts, operand: OPS["einsum"](operand, subscripts),
}
"""Operators that differ from the op of their name; they get all arguments in the order of the parameters."""


class TopiReference:
    """The reference as a namespace like `topi`; arguments may be formulas of the sizes of the case."""

    def __init__(self, sizes: Mapping[str, int], operators: Any = topi, prefix: str = "") -> None:
        self._sizes, self._operators, self._prefix = sizes, operators, prefix

    def __getattr__(self, name: str) -> Any:
        operator, full = getattr(self._operators, name), self._prefix + name
        if inspect.ismodule(operator):
            return TopiReference(self._sizes, operator, f"{full}.")
        signature = inspect.signature(operator)

        def call(*arguments: Any, **more: Any) -> Any:
            bound = signature.bind(*arguments, **more)
            last = max(list(signature.parameters).index(each) for each in bound.arguments) + 1
            bound.apply_defaults()
            values = {key: self._value(value) for key, value in bound.arguments.items()}
            own = TOPI.get(full)
            if own is None:
                found = OPS[full](*list(values.values())[:last])
            elif own.__name__ == "convolve":
                found = own(**values)
            else:
                found = own(*values.values())
            several = isinstance(found, list | tuple)
            parts = [each.value if isinstance(each, Inexact) else each for each in (found if several else [found])]
            return parts if several else parts[0]

        return call

    def _value(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(self._value, value))
        return symbolic.evaluate(value, self._sizes) if isinstance(value, symbolic.Expr) else value


def placeholders(shapes: str, dtype: str = "float32") -> list[te.Tensor]:
    """The tensors of a text like ``x: n 3 m, i: k int64``."""
    found = []
    for item in shapes.split(","):
        name, _, shape = item.partition(":")
        info = tensor(shape, dtype)
        assert info.shape is not None and info.dtype is not None
        found.append(te.placeholder(tuple(info.shape), info.dtype.name, name.strip()))
    return found


def check(
    shapes: str,
    cases: Cases,
    sizes: Sequence[Sequence[int]] = (),
    *,
    dtype: str = "float32",
    inputs: Sequence[Sequence[Array]] = (),
    tolerance: float | None = None,
    types: Sequence[str] = (),
) -> None:
    """Build prim funcs of some cases each in one module, call them with each list of arguments, and compare.

    `sizes`: values of the symbols of `shapes`, in the order of their first occurrence, for which arrays are drawn;
    `inputs`: further arguments. Where a reference raises `ValueError` (an empty reduction of NumPy), the case is left
    out of that call. `types`: element types of the sweep that alternate over the cases; another one has them all.
    """
    tensors = placeholders(shapes, dtype)
    symbols = list(dict.fromkeys(s for each in tensors for d in each.shape for s in _symbols(d)))
    drawn = [
        [
            random([symbolic.evaluate(d, known) for d in each.shape], each.dtype, seed)
            for seed, each in enumerate(tensors)
        ]
        for known in (dict(zip(symbols, numbers, strict=True)) for numbers in sizes)
    ]
    names = list(cases) if dtype not in types else sweep.turn(dtype, types, list(cases))
    groups = [
        {name: cases[name] for name in names[first : first + TOGETHER]} for first in range(0, len(names), TOGETHER)
    ]
    outputs = [{name: _listed(_built(case, tensors)) for name, case in group.items()} for group in groups]
    executable = rx.build(_module(tensors, outputs), opt_level=0)
    for number, (group, made) in enumerate(zip(groups, outputs, strict=True)):
        _compare(executable[f"main{number}"], tensors, group, made, [*drawn, *inputs], tolerance)


def _symbols(dim: Any) -> list[str]:
    """The symbols of a dimension in the order of its text."""
    return re.findall(r"[a-z_]\w*", str(dim)) if not isinstance(dim, int) else []


def _built(case: Any, tensors: Sequence[te.Tensor]) -> Any:
    return _call(case[0], tensors, tensors) if isinstance(case, tuple) else _call(case, tensors, tensors, topi)


def _call(function: Callable[..., Any], tensors: Sequence[te.Tensor], values: Sequence[Any], *before: Any) -> Any:
    """Call a function on the values of the inputs that its parameters name, or on all if these have other names."""
    named = {each.name: value for each, value in zip(tensors, values, strict=True)}
    code = getattr(function, "__code__", None)
    names = code.co_varnames[len(before) : code.co_argcount - len(function.__defaults__ or ())] if code else ()
    return function(*before, *(map(named.get, names) if names and set(names) <= named.keys() else values))


def _listed(found: Any) -> list[te.Tensor]:
    return list(found) if isinstance(found, list | tuple) else [found]


def _module(inputs: Sequence[te.Tensor], outputs: Sequence[Mapping[str, list[te.Tensor]]]) -> rx.IRModule:
    """A prim func for each group of outputs."""
    module: rx.IRModule | None = None
    for number, made in enumerate(outputs):
        flat = [tensor for tensors in made.values() for tensor in tensors]
        name = f"main{number}"
        if module is None:
            module = te.create_prim_func([*inputs, *flat], name)
        else:
            module.update(build(inputs, flat, name, module.context).module)
    assert module is not None
    return module


def _compare(
    main: Any,
    inputs: Sequence[te.Tensor],
    cases: Cases,
    outputs: Mapping[str, list[te.Tensor]],
    arguments: Sequence[Sequence[Array]],
    tolerance: float | None,
) -> None:
    """Call a prim func with each list of arguments."""
    flat = [tensor for tensors in outputs.values() for tensor in tensors]
    rtol, atol = (1e-5, 1e-6) if tolerance is None else (tolerance, tolerance)
    for args in arguments:
        sizes = {
            str(dim): size
            for tensor, array in zip(inputs, args, strict=True)
            for dim, size in zip(tensor.shape, array.shape, strict=True)
            if not isinstance(dim, int) and len(symbolic.symbols(dim)) == 1
        }
        known = _solved(sizes)
        found = [
            np.full([symbolic.evaluate(dim, known) for dim in t.shape], 77).astype(dtype_of(t.dtype).numpy)
            for t in flat
        ]
        main(*args, *found)
        rest, precise = iter(found), [wide(array) for array in args]
        for name, case in cases.items():
            have = [next(rest) for _ in outputs[name]]
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the mean of nothing
                try:
                    if isinstance(case, tuple):
                        given = _call(case[1], inputs, precise)
                    else:
                        given = _call(case, inputs, precise, TopiReference(known))
                except ValueError:
                    continue
            want = list(given) if isinstance(given, list | tuple) else [given]
            for mine, theirs in zip(have, want, strict=True):
                message = f"{name} of {[a.shape for a in args]}"
                assert mine.shape == np.shape(theirs), f"{message}: {mine.shape}, not {np.shape(theirs)}"
                np.testing.assert_allclose(wide(mine), wide(np.asarray(theirs)), rtol=rtol, atol=atol, err_msg=message)


def _solved(sizes: Mapping[str, int]) -> dict[str, int]:
    """The values of symbols from those of formulas with one symbol each, such as ``2*h``."""
    found = {name: size for name, size in sizes.items() if name.isidentifier()}
    for text, size in sizes.items():
        formula = symbolic.parse(text)
        (name,) = symbolic.symbols(formula)
        if name not in found:
            found[name] = next(n for n in range(size + 2) if symbolic.evaluate(formula, {name: n}) == size)
    return found


def wide(array: Array) -> Array:
    """16-bit floats as float64."""
    array = np.asarray(array)
    return array.astype("f8") if array.dtype.itemsize == 2 and array.dtype.kind not in "iu" else array


def random(shape: Sequence[int], name: str = "float32", seed: int = 0) -> Array:
    """Numbers of both signs; few distinct integers, so that some are equal."""
    rng = np.random.default_rng([seed, *shape])
    if name == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if name.startswith(("int", "uint")):
        return np.asarray(rng.integers(0 if name[0] == "u" else -6, 7, shape)).astype(name)
    return np.asarray(rng.standard_normal(shape) * 2).astype(dtype_of(name).numpy)
