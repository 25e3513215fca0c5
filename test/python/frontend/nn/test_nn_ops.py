"""The ops of `relax_mlir.frontend.nn` compared with PyTorch, for symbolic sizes, in one module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
import torch.nn.functional as F
from relax_mlir.frontend import nn
from relax_mlir.runtime import to_numpy

Arrays = list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Case:
    """An op: its arguments by shape and dtype, the call, and the same with torch."""

    specs: tuple[tuple[Any, ...], ...]
    ours: Callable[..., Any]
    torch: Callable[..., Any]


def case(ours: Callable[..., Any], reference: Callable[..., Any], *specs: tuple[Any, ...]) -> Case:
    return Case(specs, ours, reference)


NM, NM2 = ("n", "m"), (("n", "m"), ("n", "m"))
IMAGE = ("b", 4, "h", "w")
BATCH = ("b", "s", 2, 4)

CASES = {
    "add": case(nn.add, torch.add, NM, ("m",)),
    "subtract": case(nn.subtract, torch.sub, *NM2),
    "multiply": case(nn.multiply, torch.mul, *NM2),
    "divide": case(nn.divide, torch.div, *NM2),
    "maximum": case(nn.maximum, torch.maximum, *NM2),
    "minimum": case(nn.minimum, torch.minimum, *NM2),
    "less": case(nn.less, torch.lt, *NM2),
    "less_equal": case(nn.less_equal, torch.le, *NM2),
    "greater": case(nn.greater, torch.gt, *NM2),
    "greater_equal": case(nn.greater_equal, torch.ge, *NM2),
    "equal": case(nn.equal, torch.eq, *NM2),
    "not_equal": case(nn.not_equal, torch.ne, *NM2),
    "operators": case(
        lambda x, y: (1 - (2 * x + 1.5) / 4) * y - 0.5, lambda x, y: (1 - (2 * x + 1.5) / 4) * y - 0.5, *NM2
    ),
    "comparisons": case(
        lambda x: [x < 0.5, x <= 0.5, x > 0.5, x >= 0.5], lambda x: [x < 0.5, x <= 0.5, x > 0.5, x >= 0.5], NM
    ),
    "where": case(nn.where, lambda c, x, y: torch.where(c != 0, x, y), ("n", "m", "int32"), *NM2),
    "negative": case(nn.negative, torch.neg, NM),
    "exp": case(nn.exp, torch.exp, NM),
    "log": case(lambda x: nn.log(nn.square(x) + 1.0), lambda x: (x * x + 1).log(), NM),
    "floor": case(nn.floor, torch.floor, NM),
    "sqrt": case(lambda x: nn.sqrt(nn.square(x)), lambda x: (x * x).sqrt(), NM),
    "tanh": case(nn.tanh, torch.tanh, NM),
    "sigmoid": case(nn.sigmoid, torch.sigmoid, NM),
    "relu": case(nn.relu, F.relu, NM),
    "relu6": case(lambda x: nn.relu6(x * 8), lambda x: F.relu6(x * 8), NM),
    "silu": case(nn.silu, F.silu, NM),
    "gelu": case(nn.gelu, F.gelu, NM),
    "gelu_tanh": case(lambda x: nn.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), NM),
    "softplus": case(lambda x: nn.softplus(x, 2.0, 1.5), lambda x: F.softplus(x, 2.0, 1.5), NM),
    "prelu": case(nn.prelu, F.prelu, ("n", 3), (3,)),
    "softmax": case(lambda x: nn.softmax(x, axis=0), lambda x: F.softmax(x, 0), NM),
    "sum": case(lambda x: nn.sum(x, 1, True), lambda x: x.sum(1, keepdim=True), NM),
    "max": case(lambda x: nn.max(x, [0, 1]), lambda x: x.amax((0, 1)), NM),
    "min": case(lambda x: nn.min(x, -1), lambda x: x.amin(-1), NM),
    "cumsum": case(lambda x: nn.cumsum(x, 1), lambda x: x.cumsum(1), NM),
    "cumsum_exclusive": case(lambda x: nn.cumsum(x, 0, exclusive=True), lambda x: x.cumsum(0) - x, NM),
    "sort": case(lambda x: nn.sort(x, 0, True), lambda x: x.sort(0, descending=True)[0], NM),
    "argsort": case(lambda x: nn.argsort(x, dtype="int64"), torch.argsort, NM),
    "topk": case(lambda x: nn.topk(x, 2, dtype="int64"), lambda x: x.topk(2), ("n", 5)),
    "topk_values": case(
        lambda x: nn.topk(x, 2, axis=0, ret_type="values", largest=False),
        lambda x: x.topk(2, dim=0, largest=False)[0],
        (5, "n"),
    ),
    "matmul": case(nn.matmul, torch.matmul, NM, ("m", "k")),
    "matmul_out_dtype": case(
        lambda a, b: nn.matmul(a, b, "float32"),
        lambda a, b: a.float() @ b.float(),
        (*NM, "float16"),
        ("m", 3, "float16"),
    ),
    "conv1d": case(
        lambda x, w, b: nn.conv1d(x, w, b, 2, 1),
        lambda x, w, b: F.conv1d(x, w, b, 2, 1),
        ("b", 4, "w"),
        (6, 4, 3),
        (6,),
    ),
    "conv2d": case(
        lambda x, w, b: nn.conv2d(x, w, b, padding=(1, 2), dilation=2, groups=2),
        lambda x, w, b: F.conv2d(x, w, b, padding=(1, 2), dilation=2, groups=2),
        IMAGE,
        (6, 2, 3, 3),
        (6,),
    ),
    "conv2d_nhwc": case(
        lambda x, w, b: nn.conv2d(nn.permute(x, [0, 2, 3, 1]), nn.permute(w, [2, 3, 1, 0]), b, data_layout="NHWC"),
        lambda x, w, b: F.conv2d(x, w, b).permute(0, 2, 3, 1),
        IMAGE,
        (5, 4, 2, 2),
        (5,),
    ),
    "conv3d": case(
        lambda x, w: nn.conv3d(x, w, stride=2),
        lambda x, w: F.conv3d(x, w, stride=2),
        (1, 2, "h", "w", 5),
        (3, 2, 2, 2, 2),
    ),
    "conv1d_transpose": case(
        lambda x, w, b: nn.conv1d_transpose(x, w, b, 2, 1, 1),
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1),
        ("b", 4, "w"),
        (4, 3, 3),
        (3,),
    ),
    "layer_norm": case(
        lambda x, w, b: nn.layer_norm(x, [3, 4], w, b, 1e-3),
        lambda x, w, b: F.layer_norm(x, (3, 4), w, b, 1e-3),
        ("n", 3, 4),
        (3, 4),
        (3, 4),
    ),
    "layer_norm_plain": case(lambda x: nn.layer_norm(x, 4), lambda x: F.layer_norm(x, (4,)), ("n", 4)),
    "rms_norm": case(
        lambda x, w: nn.rms_norm(x, w, -1, 1e-4),
        lambda x, w: F.rms_norm(x, (4,), w, 1e-4),
        ("n", "m", 4),
        (4,),
    ),
    "group_norm": case(
        lambda x, w, b: nn.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 2, w, b), IMAGE, (4,), (4,)
    ),
    "group_norm_plain": case(lambda x: nn.group_norm(x, 2, None, None), lambda x: F.group_norm(x, 2), ("b", 4, "w")),
    "attention": case(
        lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda *qkv: F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in qkv), is_causal=True).transpose(1, 2),
        BATCH,
        BATCH,
        BATCH,
    ),
    "attention_mask": case(
        lambda q, k, v, m: nn.scaled_dot_product_attention(q, k, v, m, scale=0.3),
        lambda q, k, v, m: F.scaled_dot_product_attention(
            *(x.transpose(1, 2) for x in (q, k, v)), attn_mask=m, scale=0.3
        ).transpose(1, 2),
        BATCH,
        BATCH,
        BATCH,
        ("b", 2, "s", "s"),
    ),
    "unsqueeze": case(lambda x: nn.unsqueeze(x, 1), lambda x: x[:, None], NM),
    "squeeze": case(lambda x: nn.squeeze(x, 1), lambda x: x[:, 0], ("n", 1)),
    "concat": case(lambda x, y: nn.concat([x, y], 0), lambda x, y: torch.cat([x, y]), NM, ("k", "m")),
    "split": case(lambda x: nn.split(x, [1, 3], 1), lambda x: x.tensor_split((1, 3), 1), ("n", 5)),
    "chunk": case(lambda x: nn.chunk(x, 2, 1), lambda x: x.chunk(2, 1), ("n", 6)),
    "reshape": case(lambda x: x.reshape(x.shape[1], x.shape[0]), lambda x: x.reshape(x.shape[1], x.shape[0]), NM),
    "permute_dims": case(lambda x: x.permute_dims(), lambda x: x.T, NM),
    "permute": case(lambda x: nn.permute(x, [1, 0, 2]), lambda x: x.permute(1, 0, 2), ("n", "m", 2)),
    "broadcast_to": case(lambda x, y: nn.broadcast_to(x, y.shape), lambda x, y: x.expand(y.shape), ("n", 1), NM),
    "repeat": case(lambda x: x.repeat(3, 1), lambda x: x.repeat_interleave(3, 1), NM),
    "take": case(lambda x, i: nn.take(x, i, 0), lambda x, i: x[i.long()], (7, "m"), ("n", "int32")),
    "astype": case(lambda x: [x.astype("float64"), x.astype("float32")], lambda x: [x.double(), x], NM),
    "pad": case(
        lambda x: nn.pad(x, [1, 2, 0, 3], value=1.5),
        lambda x: F.pad(x, (1, 2, 0, 3), value=1.5),
        ("k", "n", "m"),
    ),
    "triu": case(lambda x: nn.triu(x, 1), lambda x: x.triu(1), NM),
    "full": case(lambda x: nn.full(x.shape, 2.5), lambda x: torch.full(x.shape, 2.5), NM),
    "zeros_ones": case(
        lambda x: [nn.zeros(x.shape, "int32"), nn.ones(x.shape), nn.empty(x.shape)],
        lambda x: [torch.zeros(x.shape, dtype=torch.int32), torch.ones(x.shape), torch.zeros(x.shape)],
        NM,
    ),
    "arange": case(lambda x: nn.arange(1, x.shape[0], 2, "int64"), lambda x: torch.arange(1, x.shape[0], 2), NM),
    "interpolate_nearest": case(
        lambda x: nn.interpolate(x, scale_factor=2), lambda x: F.interpolate(x, scale_factor=2), IMAGE
    ),
    "interpolate_bilinear": case(
        lambda x: nn.interpolate(x, (7, 9), mode="bilinear"),
        lambda x: F.interpolate(x, (7, 9), mode="bilinear"),
        IMAGE,
    ),
    "interpolate_corners": case(
        lambda x: nn.interpolate(x, (7, 9), mode="bilinear", align_corners=True),
        lambda x: F.interpolate(x, (7, 9), mode="bilinear", align_corners=True),
        IMAGE,
    ),
    "interpolate_bicubic": case(
        lambda x: nn.interpolate(x, 8, mode="bicubic"),
        lambda x: F.interpolate(x, 8, mode="bicubic"),
        ("b", 4, 5, 5),
    ),
}
SIZES = (
    {"n": 4, "m": 5, "k": 3, "b": 2, "h": 6, "w": 7, "s": 5},
    {"n": 1, "m": 1, "k": 1, "b": 1, "h": 5, "w": 5, "s": 1},
)


def parts(spec: tuple[Any, ...]) -> tuple[tuple[Any, ...], str]:
    has_dtype = isinstance(spec[-1], str) and len(spec[-1]) > 1
    return (spec[:-1], spec[-1]) if has_dtype else (spec, "float32")


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    """All cases as methods of one module."""

    class Ops(nn.Module):
        pass

    specs = {}
    for name, item in CASES.items():
        args = [f"x{number}" for number in range(len(item.specs))]
        text = f"lambda self, {', '.join(args)}: ours({', '.join(args)})"
        setattr(Ops, name, eval(text, {"ours": item.ours}))
        getattr(Ops, name).__name__ = name
        specs[name] = {arg: nn.spec.Tensor(*parts(spec)) for arg, spec in zip(args, item.specs, strict=True)}
    mod, params = Ops().export_tvm(specs)
    assert params == []
    return rx.build(mod)


def drawn(item: Case, sizes: dict[str, int]) -> Arrays:
    rng = np.random.default_rng(0)
    found: Arrays = []
    for spec in item.specs:
        shape, dtype = parts(spec)
        size = [sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in shape]
        values = rng.integers(0, 2, size) if dtype == "int32" else rng.standard_normal(size)
        found.append(np.asarray(values).astype(dtype))
    return found


def flat(result: Any) -> Arrays:
    if isinstance(result, torch.Tensor):
        return [result.numpy()]
    if isinstance(result, list | tuple) or not hasattr(result, "__dlpack__"):
        return [array for item in result for array in flat(item)]
    return [to_numpy(result)]


@pytest.mark.parametrize("sizes", SIZES, ids=["some", "one"])
@pytest.mark.parametrize("name", CASES)
def test_op(built: rx.Executable, name: str, sizes: dict[str, int]) -> None:
    item = CASES[name]
    arrays = drawn(item, sizes)
    found, expected = flat(built[name](*arrays)), flat(item.torch(*map(torch.from_numpy, arrays)))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-3 if "float16" in str(item.specs) else 2e-5, atol=1e-5)


def test_every_op_has_a_case() -> None:
    elsewhere = {
        "debug_func", "extern", "get_timestep_embedding", "multinomial_from_uniform", "print_", "tensor_expr_op",
        "tensor_ir_inplace_op", "tensor_ir_op", "interpolate", "scaled_dot_product_attention", "zeros", "ones", "empty",
        "square",
    }  # fmt: skip
    assert set(nn.op.__all__) <= CASES.keys() | elsewhere


def test_timestep_embedding() -> None:
    """Against the formula of Ho et al. (2020), as diffusers have it."""

    class Embed(nn.Module):
        def forward(self, t: nn.Tensor) -> Any:
            return nn.get_timestep_embedding(t, 7, True, 0.5, 2.0, 100), nn.get_timestep_embedding(t, 4)

    mod, _ = Embed().export_tvm({"forward": {"t": nn.spec.Tensor(("n",), "int64")}})
    steps = np.array([0, 3, 50])
    first, second = flat(rx.build(mod)["forward"](steps))

    def formula(dim: int, shift: float, scale: float, period: int) -> tuple[Any, Any]:
        half = dim // 2
        angles = scale * steps[:, None] * np.exp(-np.log(period) * np.arange(half) / (half - shift))
        return np.sin(angles), np.cos(angles)

    sin, cos = formula(7, 0.5, 2.0, 100)
    np.testing.assert_allclose(first, np.concatenate([cos, sin, np.zeros((3, 1))], 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second, np.concatenate(formula(4, 1, 1, 10000), 1), rtol=1e-4, atol=1e-5)


def test_multinomial_from_uniform() -> None:
    class Draw(nn.Module):
        def forward(self, p: nn.Tensor, u: nn.Tensor) -> Any:
            return nn.multinomial_from_uniform(p, u)

    spec = {"p": nn.spec.Tensor(("n", 4), "float32"), "u": nn.spec.Tensor(("n", 1), "float32")}
    mod, _ = Draw().export_tvm({"forward": spec})
    p = np.tile(np.float32([0.1, 0.2, 0.3, 0.4]), (4, 1))
    u = np.float32([[0.05], [0.25], [0.5], [0.95]])
    (found,) = flat(rx.build(mod)["forward"](p, u))
    assert found.tolist() == [[0], [1], [2], [3]] and found.dtype == np.int64
