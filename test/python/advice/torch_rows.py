"""PyTorch programs: what the importer and its compiled functions refuse, and the replacements."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from advice_rows import Row, Rows, same
from relax_mlir.error import RelaxError
from relax_mlir.frontend.torch import compile_program, dynamo_backend, from_exported_program
from relax_mlir.frontend.torch.torch_types import require_torch
from torch import nn
from torch.nn import functional as F

X = torch.linspace(-1, 1, 12).reshape(3, 4)
IMAGE = torch.linspace(-1, 1, 150).reshape(2, 3, 5, 5)
QUERY = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4)
BAGS = torch.tensor([[0, 1], [2, 3]])
SEQUENCE = torch.linspace(-1, 1, 48).reshape(2, 3, 8)
PADDING = torch.tensor([[False, False, True], [False, True, True]])


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Flag(nn.Module):
    """A module with an argument that is no tensor."""

    def forward(self, x: Any, flag: bool) -> Any:
        return x + 1 if flag else x - 1


class Loss(nn.Module):
    """A module with a weight and one number as its result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.linear(x).sum()


class Norm(nn.Module):
    """Batch norm with statistics of the batch in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.0, 0.5, 1.0]))
        self.register_buffer("variance", torch.tensor([1.0, 2.0, 0.5]))

    def forward(self, x: Any) -> Any:
        return F.batch_norm(x, self.mean, self.variance, training=self.training)


class Padded(nn.Module):
    """A layer of an encoder with a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()

    def forward(self, x: Any, padding: Any) -> Any:
        return self.layer(x, src_key_padding_mask=padding)


@torch.library.custom_op("relax_mlir_advice::grow", mutates_args=("x",))
def grow(x: torch.Tensor) -> None:
    x.add_(1)


@torch.library.custom_op("relax_mlir_advice::grown", mutates_args=())
def grown(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@grown.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def grows(x: Any) -> Any:
    y = x.clone()
    grow(y)
    return y


class Adjacency(nn.Module):
    """A product with a constant matrix."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        matrix = torch.eye(3) * 2
        self.register_buffer("matrix", matrix.to_sparse() if sparse else matrix)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm(self.matrix, x)


def exported(what: Callable[..., Any], *args: Any, train: bool = False, strict: bool = False) -> Any:
    """A module, or a function as one, exported without torch's warnings."""
    module = what if isinstance(what, nn.Module) else Calls(what)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return torch.export.export(module.train(train), args, strict=strict)


def imported(program: Any, functional: bool = True) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return from_exported_program(program, run_ep_decomposition=functional)


def run(program: Any, *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_program(program)(*args)


def shared(copied: Callable[[Any], Any]) -> Any:
    """The sum of an argument that is doubled in place, and of the result of `copied` for it."""
    x = X.clone()
    return run(exported(lambda x, y: x.mul_(2) + y, X.clone(), X.clone()), x, copied(x))


def row(wrong: Callable[..., Any], message: str, *args: Any, train: bool = False, functional: bool = True) -> Row:
    """A program that is refused."""
    return lambda: imported(exported(wrong, *args, train=train), functional), message


def in_training(module: nn.Module, message: str, *args: Any, functional: bool = True) -> Row:
    """A module exported in training mode."""
    return row(module, message, *args, train=True, functional=functional)


def compiled(function: Callable[..., Any], *args: Any) -> Any:
    """The result of ``torch.compile``; an error of the backend is raised as one of this project."""
    torch.compiler.reset()
    try:
        return torch.compile(function, backend=dynamo_backend)(*args)
    except torch._dynamo.exc.BackendCompilerFailed as error:
        raise RelaxError(str(error)) from error


@torch.no_grad()
def compiled_without_gradients(function: Callable[..., Any], *args: Any) -> Any:
    return compiled(function, *args)


def joint() -> Any:
    """A program that computes gradients."""
    from torch.export.experimental import _export_forward_backward

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return imported(_export_forward_backward(torch.export.export(Loss(), (X,))))


def forward() -> None:
    module = Loss()
    with torch.no_grad():
        same(run(exported(module, X), X), module(X))


def padded() -> Any:
    """The exported layer; torch may fuse it into one op."""
    torch.manual_seed(0)
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(True)
    try:
        module = Padded().requires_grad_(False)
        return (module, exported(module, SEQUENCE, PADDING, strict=True))
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def without_torch() -> Any:
    kept = sys.modules["torch"]
    sys.modules["torch"] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        return require_torch()
    finally:
        sys.modules["torch"] = kept


def flagged() -> Any:
    return run(torch.export.export(Flag(), (X, True)), X, False)


def on_meta() -> nn.Linear:
    return nn.Linear(4, 2, device="meta")


def resized(**how: Any) -> Callable[[Any], Any]:
    return lambda x: F.interpolate(x, mode="nearest", **how)


def many(x: Any, new: Any) -> Any:
    """As many values as positions of a mask."""
    return x.index_put((x > 0,), new.reshape(12)[6:])


def attention(dropout: float) -> Callable[[Any], Any]:
    return lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=dropout)


def random_rounds(x: Any, goes_on: Callable[..., Any]) -> Any:
    from torch._higher_order_ops import while_loop

    return while_loop(goes_on, lambda i, x: (i + 1, x + torch.rand_like(x)), (torch.tensor(0), x))[1]


LINEAR = nn.Linear(4, 2)
BAG = nn.EmbeddingBag(5, 3, mode="sum").requires_grad_(False)
EVAL = r"export the module after module.eval\(\)"

TABLE = Rows(
    {
        "constant": (flagged, "which is part of it"),
        "changed-argument": row(grows, "give it a functional form", X),
        "changed-argument-as-exported": row(grows, "give it a functional form", X, functional=False),
        "dynamo": (
            lambda: compiled_without_gradients(torch.linalg.eigvalsh, torch.eye(3)),
            "Let torch run these parts: torch.compiler.disable",
        ),
        "gradients": (lambda: compiled(LINEAR, X), r"call the model under torch.no_grad\(\)"),
        "joint-graph": (joint, EVAL + ", outside of training"),
        "sparse": row(Adjacency(sparse=True), r"make it one with to_dense\(\)", torch.ones(3, 2)),
        "random": row(
            lambda x: random_rounds(x, lambda i, x: torch.rand(()) + i < 2),
            "draw them in its body, and carry them",
            X,
        ),
        "strides": row(lambda x: x.as_strided((2,), (5,)).clone(), "use slices, views", X),
        "out": row(
            lambda x, out: torch.atan2(x, x, out=out),
            "functional programs have aten.atan2.default",
            X,
            torch.zeros(3, 4),
            functional=False,
        ),
        "bags": row(BAG, "use embedding, and a sum or mean", BAGS),
        "distances": row(lambda x: torch.ops.aten._pdist_forward(x, 2.0), "use cdist", X),
        "number": row(
            lambda x: x.masked_fill(x > 0, 300),
            "Convert the tensor to a wider dtype first",
            torch.arange(-3, 4, dtype=torch.int8),
        ),
        "lift-fresh": row(lambda x: torch.ops.aten.lift_fresh(x).add_(1), "use the tensor itself", X),
        "shared-memory": (lambda: shared(lambda base: base), "pass a copy of one of them"),
        "not-installed": (without_torch, "install it with: pip install"),
        "slopes": in_training(nn.RReLU(), f"random slopes of training; {EVAL}", X),
        "attention": row(attention(0.5), f"attention with dropout of training; {EVAL}", QUERY),
        "encoder": (lambda: imported(padded()[1]), r"mha.set_fastpath_enabled\(False\)"),
        "mask": row(many, "use torch.where", X, X + 2),
        "batch-norm": in_training(Norm(), f"batch norm in training mode; {EVAL}", IMAGE, functional=False),
        "resize": row(resized(scale_factor=1.5), "give size=, or recompute_scale_factor=True", IMAGE),
        "histogram": row(lambda x: torch.histc(x, 4), "give min and max", X),
        "dtype": row(lambda x: x.to(torch.float8_e5m2).float(), "supported are bool, int8", X),
        "device": (
            lambda: imported(exported(on_meta(), torch.zeros(3, 4, device="meta"))),
            "move the module there before it is exported",
        ),
    }
)
