"""Modules, export, specs and compilation of `relax_mlir.frontend.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
import tvm_ffi
from relax_mlir import topi
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.frontend import nn
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.script import tir as T

Tensor = nn.spec.Tensor

LAYERS: dict[str, tuple[nn.Module, torch.nn.Module, tuple[Any, ...]]] = {
    "linear": (nn.Linear(4, 3), torch.nn.Linear(4, 3), ("n", 4)),
    "linear_without_bias": (nn.Linear(4, 3, bias=False), torch.nn.Linear(4, 3, bias=False), ("n", "m", 4)),
    "conv1d": (nn.Conv1D(4, 6, 3, 2, 1, 1, 2), torch.nn.Conv1d(4, 6, 3, 2, 1, 1, 2), ("n", 4, 9)),
    "conv2d": (
        nn.Conv2D(4, 6, [3, 2], padding=1),
        torch.nn.Conv2d(4, 6, (3, 2), padding=1),
        ("n", 4, "h", 7),
    ),
    "conv3d": (nn.Conv3D(2, 3, 2, bias=False), torch.nn.Conv3d(2, 3, 2, bias=False), ("n", 2, 3, 4, 5)),
    "conv_transpose1d": (
        nn.ConvTranspose1D(4, 3, 3, 2, 1, 1),
        torch.nn.ConvTranspose1d(4, 3, 3, 2, 1, 1),
        ("n", 4, 5),
    ),
    "layer_norm": (nn.LayerNorm([3, 4]), torch.nn.LayerNorm([3, 4]), ("n", 3, 4)),
    "layer_norm_plain": (
        nn.LayerNorm(4, elementwise_affine=False),
        torch.nn.LayerNorm(4, elementwise_affine=False),
        ("n", 4),
    ),
    "rms_norm": (nn.RMSNorm(4, -1, 1e-5, bias=False), torch.nn.RMSNorm(4, 1e-5), ("n", "m", 4)),
    "group_norm": (nn.GroupNorm(2, 4), torch.nn.GroupNorm(2, 4), ("n", 4, 5)),
    "relu": (nn.ReLU(), torch.nn.ReLU(), ("n",)),
    "silu": (nn.SiLU(), torch.nn.SiLU(), ("n",)),
    "gelu": (nn.GELU(), torch.nn.GELU(), ("n",)),
    "identity": (nn.Identity(), torch.nn.Identity(), ("n",)),
}


def test_layers() -> None:
    """Each layer of a model compared with torch's, whose parameters have the same names and shapes."""

    class Layers(nn.Module):
        def __init__(self) -> None:
            for name, (layer, _, _) in LAYERS.items():
                setattr(self, f"_{name}", layer)

    specs = {}
    for name, (_, _, shape) in LAYERS.items():
        setattr(Layers, name, eval(f"lambda self, x: self._{name}(x)"))
        getattr(Layers, name).__name__ = name
        specs[name] = {"x": Tensor(shape, "float32")}
    model = Layers()
    model.load_state_dict(
        {
            f"_{name}.{key}": value.detach().numpy()
            for name, (_, layer, _) in LAYERS.items()
            for key, value in layer.state_dict().items()
        }
    )
    compiled = model.jit(specs)
    for name, (_, layer, shape) in LAYERS.items():
        x = torch.randn([{"n": 2, "m": 3, "h": 6}.get(str(dim), dim) for dim in shape])
        torch.testing.assert_close(compiled[name](x), layer(x), rtol=1e-4, atol=1e-5)


def test_embedding() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.table = nn.Embedding("v", 3)

        def one(self, i: nn.Tensor) -> nn.Tensor:
            return self.table(i)

        def two(self, i: nn.Tensor) -> nn.Tensor:
            return self.table(i)

    spec = {"one": {"i": Tensor(("n",), "int32")}, "two": {"i": Tensor(("n", "m"), "int32")}}
    mod, _ = Model().export_tvm(spec)
    built, table = rx.build(mod), np.arange(12, dtype="float32").reshape(4, 3)
    for name, i in (("one", [3, 0]), ("two", [[1, 2, 3], [0, 0, 1]])):
        np.testing.assert_array_equal(to_numpy(built[name](np.int32(i), table)), table[i])


def test_attention_and_time_steps() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.steps = nn.Timesteps(8, True, 0)
            self.embed = nn.TimestepEmbedding(8, 6, out_dim=4, post_act_fn="silu", cond_proj_dim=3)
            self.attend = nn.Attention(4, 6, heads=2, dim_head=3, norm_num_groups=2)

        def forward(self, t: nn.Tensor, c: nn.Tensor, x: nn.Tensor, y: nn.Tensor) -> Any:
            return self.embed(self.steps(t), c), self.attend(x, y)

    shapes = {"t": ("n",), "c": ("n", 3), "x": ("n", "s", 4), "y": ("n", "k", 6)}
    model = Model()
    rng = np.random.default_rng(0)
    weights = {k: rng.standard_normal(p.shape).astype("float32") for k, p in model.named_parameters()}
    model.load_state_dict(weights)
    compiled = model.jit({"forward": {k: Tensor(s, "float32") for k, s in shapes.items()}})
    w = {name: torch.from_numpy(array) for name, array in weights.items()}
    sizes = {"n": 2, "s": 3, "k": 5}
    t, c, x, y = (torch.randn([sizes.get(str(dim), dim) for dim in s]) for s in shapes.values())
    embedded, attended = compiled["forward"](t, c, x, y)
    angles = t[:, None] * torch.exp(torch.arange(4) * (-np.log(10000) / 4))
    h = torch.cat([angles.cos(), angles.sin()], 1) + c @ w["embed.cond_proj.weight"].T
    h = torch.nn.functional.silu(h @ w["embed.linear_1.weight"].T + w["embed.linear_1.bias"])
    h = torch.nn.functional.silu(h @ w["embed.linear_2.weight"].T + w["embed.linear_2.bias"])
    torch.testing.assert_close(embedded, h, rtol=1e-4, atol=1e-4)
    normed = torch.nn.functional.group_norm(x.mT, 2, w["attend.group_norm.weight"], w["attend.group_norm.bias"]).mT
    q, k, v = normed @ w["attend.to_q.weight"].T, y @ w["attend.to_k.weight"].T, y @ w["attend.to_v.weight"].T
    q, k, v = (a.unflatten(2, (2, 3)).transpose(1, 2) for a in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    out = out @ w["attend.to_out.0.weight"].T + w["attend.to_out.0.bias"]
    torch.testing.assert_close(attended, out, rtol=1e-4, atol=1e-4)


class Mlp(nn.Module):
    def __init__(self, size: Any = "k") -> None:
        super().__init__()
        self.up = nn.Linear(size, 4, bias=False)
        self.down = nn.Linear(4, 2)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.down(nn.relu(self.up(x)))


def test_exported_program() -> None:
    """The functions, parameters and attributes that TVM's exporter makes."""
    mod, params = Mlp().export_tvm({"forward": {"x": Tensor(("batch", "k"), "float32")}})
    text = """
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor(("batch", "k"), "float32"), up_weight: R.Tensor((4, "k"), "float32"), down_weight: R.Tensor((2, 4), "float32"), down_bias: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.matmul(x, R.permute_dims(up_weight))
            b = R.add(R.matmul(R.nn.relu(a), R.permute_dims(down_weight)), down_bias)
            R.output(b)
        return b
"""  # noqa: E501 - a program
    assert_structural_equal(mod, parse(text))
    assert [(name, param.dtype) for name, param in params] == [
        ("up.weight", "float32"),
        ("down.weight", "float32"),
        ("down.bias", "float32"),
    ]


@pytest.mark.parametrize("mode", ["plain", "packed", "none"])
def test_modes_of_parameters(mode: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter((3,))

        def forward(self, x: nn.Tensor, n: Any, pair: Any) -> Any:
            scaled = x if mode == "none" else x * self.weight
            return [scaled, (pair[0] + pair[1], nn.arange(n, dtype="int64"))]

    pair = [Tensor((2,), "float32")] * 2
    spec = {"x": Tensor(("b", 3), "float32"), "n": int, "pair": pair, "$": {"param_mode": mode}}
    mod, params = Model().export_tvm({"forward": spec})
    weight = np.float32([1, 2, 3])
    given = {"plain": [weight], "packed": [(weight,)], "none": []}[mode]
    ones = np.ones(2, "float32")
    scaled, (added, numbers) = rx.build(mod)["forward"](np.ones((2, 3), "float32"), (4,), (ones, ones), *given)
    np.testing.assert_array_equal(to_numpy(scaled), np.ones((2, 3)) * (1 if mode == "none" else weight))
    np.testing.assert_array_equal(to_numpy(added), [2, 2])
    np.testing.assert_array_equal(to_numpy(numbers), range(4))
    assert len(params) == 1 and int(mod["forward"].attributes["num_input"].value) == 3


def test_debug() -> None:
    """Prints, registered functions, and the effect that programs of TVM pass on."""
    seen: list[Any] = []

    def see(line: str, x: Any) -> None:
        seen.append((line, to_numpy(x).tolist()))

    tvm_ffi.register_global_func("test.nn.seen", see, override=True)

    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            nn.print_(x)
            nn.debug_func("test.nn.seen", x, _line_info="here")
            return x + x

    spec = {"forward": {"x": Tensor(("n",), "float32")}}
    mod, _ = Model().export_tvm(spec, debug=True)
    built = rx.build(mod)
    effects = built["_initialize_effect"]()
    out, effects = built["forward"](np.float32([1, 2]), *effects)
    np.testing.assert_array_equal(to_numpy(out), [2, 4])
    assert seen == [("here", [1.0, 2.0])]
    with pytest.raises(ArgumentError, match=r"print_ has effects: .*debug=True"):
        Model().export_tvm(spec)
    assert Model().jit(spec, debug=True, out_format="numpy")["forward"](np.float32([3])).tolist() == [6]


def test_subroutines() -> None:
    """One private function for each class and signature."""

    class Block(nn.Module):
        define_subroutine = True

        def __init__(self, size: int) -> None:
            self.dense = nn.Linear(size, size)

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return nn.silu(self.dense(x))

    class Model(nn.Module):
        def __init__(self) -> None:
            self.blocks = nn.ModuleList([Block(4), Block(4)])
            self.last = Block(2)

        def forward(self, x: nn.Tensor, y: nn.Tensor) -> Any:
            return self.blocks(x), self.last(y)

    model = Model()
    spec = {"forward": {"x": Tensor(("n", 4), "float32"), "y": Tensor(("n", 2), "float32")}}
    mod, _ = model.export_tvm(spec)
    assert [f.name.value for f in mod.functions()] == ["forward", "block", "block_0"]
    rng = np.random.default_rng(0)
    model.load_state_dict({k: rng.standard_normal(p.shape).astype("float32") for k, p in model.named_parameters()})
    w = {name: torch.from_numpy(param.data) for name, param in model.named_parameters()}
    x, y = torch.randn(3, 4), torch.randn(3, 2)
    out, last = model.jit(spec)["forward"](x, y)

    def layer(x: Any, name: str) -> Any:
        return torch.nn.functional.silu(x @ w[f"{name}.dense.weight"].T + w[f"{name}.dense.bias"])

    torch.testing.assert_close(out, layer(layer(x, "blocks.0"), "blocks.1"), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(last, layer(y, "last"), rtol=1e-4, atol=1e-5)


@T.prim_func
def doubled(a: T.handle, b: T.handle):  # type: ignore[no-untyped-def]  # a script
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.serial(n):
        B[i] = A[i] + A[i]


@T.prim_func
def increased(a: T.handle, k: T.int64):  # type: ignore[no-untyped-def]  # a script
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in T.serial(n):
        A[i] = A[i] + T.cast(k, "float32")


def test_functions_of_other_kinds() -> None:
    """A registered function, tensor expressions, and prim funcs, one of them in place."""

    def negated(x: Any, out: Any) -> None:
        np.from_dlpack(out)[...] = -to_numpy(x)

    tvm_ffi.register_global_func("test.nn.negated", negated, override=True)

    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> Any:
            like = nn.Tensor.placeholder(x.shape, "float32")
            a = nn.extern("test.nn.negated", [x], out=like)
            b = nn.tensor_expr_op(topi.nn.relu, "relu", [x])
            c = nn.tensor_ir_op(doubled, "doubled", [x], out=like)
            d = nn.tensor_ir_inplace_op(increased, "increased", [c, 3], 0, out=like)
            return a, b, d

    mod, _ = Model().export_tvm({"forward": {"x": Tensor(("n",), "float32")}})
    x = np.float32([-1, 2, 3])
    found = [to_numpy(item).tolist() for item in rx.build(mod)["forward"](x)]
    assert found == [(-x).tolist(), np.maximum(x, 0).tolist(), (2 * x + 3).tolist()]


def test_tensors() -> None:
    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> Any:
            assert x.ndim == 2 and x.dtype == "float32" and str(x.shape[0]) == "n" and x.shape[1] == 2
            return x + nn.Tensor.from_const([[1.0, 2.0]]).astype("float32"), x * nn.Tensor.from_scalar(3, "float32")

    mod, _ = Model().export_tvm({"forward": {"x": Tensor(("n", 2), "float32")}})
    a, b = rx.build(mod)["forward"](np.ones((1, 2), "float32"))
    np.testing.assert_array_equal(to_numpy(a), [[2, 3]])
    np.testing.assert_array_equal(to_numpy(b), [[3, 3]])


def test_parameters_and_dtypes() -> None:
    model = Mlp()
    model.to("float16")
    assert {param.dtype for param in model.parameters()} == {"float16"}
    nn.set_default_dtype("float64")
    try:
        assert nn.get_default_dtype() == "float64" and nn.Parameter((2,)).dtype == "float64"
    finally:
        nn.set_default_dtype("float32")
    param = nn.Parameter((2, 3))
    param.data = torch.ones(2, 3)
    param.to("float64")
    assert param.data is not None and param.data.dtype == np.float64
    param.data = None
    with pytest.raises(ShapeError, match=r"'data' has shape \(3, 2\), expected \(2, 3\)"):
        param.data = np.ones((3, 2))
    with pytest.raises(DTypeError, match="'data' has dtype float32, expected float64"):
        param.data = np.ones((2, 3), "float32")
    with pytest.raises(ArgumentError, match=r"missing are up.weight, down.bias; unknown are other"):
        model.load_state_dict({"down.weight": np.ones((2, 4), "float16"), "other": np.ones(1)})
    missing, unknown = model.load_state_dict({"other": np.ones(1)}, strict=False)
    assert missing == ["up.weight", "down.weight", "down.bias"] and unknown == ["other"]
    assert list(model.state_dict(prefix="m")) == ["m.up.weight", "m.down.weight", "m.down.bias"]


def test_shared_parameters_appear_once() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.first = nn.Linear(3, 3, bias=False)
            self.second = nn.Linear(3, 3, bias=False)
            self.second.weight = self.first.weight
            self.table = nn.ParameterDict({"a": nn.Parameter((1,)), "b": nn.Parameter((1,))})
            self.more = nn.ParameterList([nn.Parameter((1,))])
            self.parts = nn.ModuleDict({"c": nn.Linear(1, 1, bias=False)})

    names = [name for name, _ in Model().named_parameters()]
    assert names == ["first.weight", "table.a", "table.b", "more.0", "parts.c.weight"]


def test_mutator() -> None:
    """Replace layers in lists, dictionaries and attributes; the names say where they are."""
    seen = []

    class Halve(nn.Mutator):
        def visit_module(self, name: str, node: nn.Module) -> Any:
            if isinstance(node, nn.Linear):
                seen.append(name)
                return nn.Linear(node.in_features, node.out_features, dtype="float16")
            return super().visit_module(name, node)

    class Model(nn.Module):
        def __init__(self) -> None:
            self.mlp, self.items = Mlp(), nn.ModuleList([nn.Linear(1, 1)])
            self.table = nn.ModuleDict({"x": nn.Linear(1, 1)})
            self.params = nn.ParameterList([nn.Parameter((1,))])

    model = Halve().visit("", Model())
    assert seen == ["mlp.up", "mlp.down", "items.0", "table.x"]
    assert {p.dtype for n, p in model.named_parameters() if not n.startswith("params")} == {"float16"}


def test_spec_from_example_arguments() -> None:
    mod, _ = Mlp(5).export_tvm({"forward": [torch.ones(3, 5)]})
    assert "R.Tensor((3, 5), " in mod.script()


class Two(nn.Module):
    def __init__(self) -> None:
        self.weight = nn.Parameter((1,))

    def forward(self, x: nn.Tensor, y: nn.Tensor) -> Any:
        return x

    def wrong(self, x: nn.Tensor) -> Any:
        return "text"


X = Tensor((1,), "float32")
MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "argument without a spec": (
        lambda: Two().export_tvm({"forward": {"x": X}}),
        "the spec of 'forward' has no argument 'y'",
    ),
    "unknown argument": (
        lambda: Two().export_tvm({"forward": {"x": X, "z": X}}),
        "argument in the spec of 'forward' 'z'",
    ),
    "unknown method": (lambda: Two().export_tvm({"foward": {}}), "did you mean 'forward'"),
    "no spec": (lambda: Two().export_tvm({"wrong": {"x": 3}}), "'x' is 3, expected one of nn.spec.Tensor"),
    "no dictionary": (lambda: Two().export_tvm(3), "'spec' is 3, expected a dictionary"),  # type: ignore[arg-type]
    "result": (
        lambda: Two().export_tvm({"wrong": {"x": X}}),
        "method 'wrong' returns 'text', expected tensors",
    ),
    "mode": (
        lambda: Two().export_tvm({"wrong": {"x": X, "$": {"param_mode": "some"}}}),
        "'param_mode' is 'some'; options are param_mode and effect_mode, each of them plain, packed, none",
    ),
    "no values": (lambda: Two().jit({"wrong": {"x": X}}), "returns 'text'"),
    "no weights": (
        lambda: Mlp(1).jit({"forward": {"x": Tensor((1, 1), "float32")}}),
        "without values: up.weight",
    ),
    "device": (lambda: Mlp().jit({}, device="cuda"), "'device' is 'cuda'; the only device is the CPU"),
    "format": (
        lambda: Mlp().jit({}, out_format="list"),
        "'out_format' is 'list', expected 'torch' or 'numpy'",
    ),
    "op outside": (
        lambda: nn.relu(nn.Tensor.placeholder((1,), "float32")),
        "relu: ops of nn are called in methods",
    ),
    "groups": (lambda: nn.Conv1D(3, 4, 1, groups=2), "'in_channels' 3 is not divisible by 'groups' 2"),
    "kernel": (lambda: nn.Conv2D(3, 4, [1]), "'kernel_size' has 1 sizes, expected 2"),
    "gelu": (lambda: nn.gelu(X, "fast"), "'approximate' is 'fast', expected None or 'tanh'"),  # type: ignore[arg-type]
    "source module": (lambda: nn.SourceModule, "nn.SourceModule is not available: register a function"),
    "collective": (
        lambda: nn.ccl_allreduce,
        "nn.ccl_allreduce is not available: a program runs in one process",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    call, message = MISTAKES[name]
    with pytest.raises(RelaxError) as caught:
        call()
    assert message in str(caught.value)


def test_parameters_are_free_after_an_error() -> None:
    """A method that fails does not leave its values in the parameters."""

    class Model(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter((2,))

        def forward(self, x: nn.Tensor, fail: Any) -> nn.Tensor:
            if x.ndim == 1:
                raise UnsupportedError("as asked")
            return x + self.weight

    model = Model()
    with pytest.raises(UnsupportedError, match="as asked"):
        model.export_tvm({"forward": {"x": Tensor((2,), "float32"), "fail": int}})
    mod, _ = model.export_tvm({"forward": {"x": Tensor((1, 2), "float32"), "fail": int}})
    mod.verify()
