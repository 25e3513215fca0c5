"""Import rules by PyTorch op, the op as rules see it, and the ops that are rejected or need no rule."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from relax_mlir import op as R
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.value import Value
from relax_mlir.error import DTypeError, UnsupportedError
from relax_mlir.frontend.torch import rules as rule_modules
from relax_mlir.frontend.torch.torch_types import (
    Argument,
    FakeTensor,
    GraphModule,
    Node,
    Size,
    dtype_name,
    require_torch,
)
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.frontend.torch.graph_importer import GraphImporter


# The table of import rules by PyTorch op.


RuleFunction = Callable[..., Argument]
F = TypeVar("F", bound=RuleFunction)


@dataclass(frozen=True)
class Rule:
    """The import rule of one op.

    `function` takes the `OpCall` and the op's arguments in schema order, defaults included. Keyword-only arguments are
    passed only if it has a parameter of that name.
    """

    function: RuleFunction
    keywords: frozenset[str]


_RULES: dict[str, Rule] = {}
_loaded: list[str] = []


def rule(*names: str) -> Callable[[F], F]:
    """Register a function for ops of the namespace ``aten``: ``"add.Tensor"`` for an overload, ``"add"`` for all.

    Ops of other namespaces are prefixed: ``"prims::abs.default"``, ``"higher_order::cond"``. Ops of libraries are not
    looked up, since these may be loaded later.
    """

    def register(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        keywords = frozenset(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
        for name in names:
            for full in _overloads(name):
                if full in _RULES:
                    raise AssertionError(f"two rules for {full}")
                _RULES[full] = Rule(function, keywords)
        return function

    return register


def _overloads(name: str) -> Iterator[str]:
    """Yield the full names (``aten.add.Tensor``) of the overloads of `name` in this version of torch."""
    ops = require_torch().ops
    space, dot, rest = name.partition("::")
    if space == "higher_order":
        yield rest
        return
    if not dot:
        space, rest = "aten", name
    if space not in ("aten", "prims", "prim"):
        yield f"{space}.{rest}"
        return
    packet_name, _, overload = rest.partition(".")
    packet = getattr(getattr(ops, space), packet_name, None)
    if packet is None:
        return
    for found in packet.overloads():
        if overload in ("", found) and found != "out" and not found.endswith("_out"):
            yield f"{space}.{packet_name}.{found}"


def rules() -> dict[str, Rule]:
    """Return all rules, by names such as ``aten.add.Tensor``."""
    if not _loaded:
        for _, family, _ in pkgutil.iter_modules(rule_modules.__path__):
            importlib.import_module(f"relax_mlir.frontend.torch.rules.{family}")
        _loaded.append("all")
    return _RULES


# One op of a graph, as rules see it.


Number = bool | int | float
Operand = Value | Expr | Number
"""An op's argument that denotes a tensor or a number."""


NO_GENERATOR = "random numbers in the condition of a loop; draw them in its body, and carry them"


class OpCall:
    """One op of a graph: torch's types of its results, and the conversion of its arguments to values."""

    def __init__(self, importer: GraphImporter, node: Node) -> None:
        self.importer = importer
        self.node = node

    @property
    def builder(self) -> BlockBuilder:
        return self.importer.builder

    @property
    def name(self) -> str:
        """The name of the op without namespace and overload: ``max`` for ``aten.max.dim``."""
        return str(self.node.target).split(".")[1]

    @property
    def overload(self) -> str:
        """The name of the overload: ``dim`` for ``aten.max.dim``."""
        return str(self.node.target).rpartition(".")[2]

    # -- torch's types of the results

    @property
    def result(self) -> Argument:
        """Torch's type of the (first) result, as a fake tensor."""
        value = self.node.meta["val"]
        return value[0] if isinstance(value, list | tuple) else value

    @property
    def results(self) -> Sequence[Any]:
        """Torch's types of the results, as fake tensors."""
        value = self.node.meta["val"]
        return value if isinstance(value, list | tuple) else [value]

    @property
    def dtype(self) -> str:
        """The dtype of the (first) result."""
        return dtype_name(self.result.dtype)

    @property
    def is_float(self) -> bool:
        return bool(self.result.dtype.is_floating_point)

    @property
    def shape(self) -> list[Dim]:
        """The shape of the (first) result."""
        return self.importer.shape(self.result.shape)

    @property
    def rank(self) -> int:
        return len(self.result.shape)

    def argument(self, index: int) -> Argument:
        """Return torch's metadata of positional argument `index`."""
        item = self.node.args[index]
        return item.meta["val"] if hasattr(item, "meta") else item

    def promoted(self, *indices: int) -> str:
        """Return the dtype to which torch promotes the positional arguments `indices`."""
        import torch

        first, *rest = (_plain(self.argument(index)) for index in indices or (0, 1))
        if not rest:
            return dtype_name(first.dtype)
        return dtype_name(torch.result_type(first, rest[0]))

    # -- arguments as values

    def tensor(self, operand: Operand, dtype: str | None = None, *, wraps: bool = False) -> Value:
        """Convert a tensor, a number or a symbolic integer to a tensor of `dtype` (default: that of the result).

        `wraps`: an integer outside of the range of `dtype` wraps around, as in eager torch's arithmetic and
        comparisons. In all other ops it is an error, as in eager torch.
        """
        wanted = dtype or self.dtype
        if isinstance(operand, Value):
            return operand if operand.dtype == wanted else cast(operand, wanted)
        if isinstance(operand, Expr):
            number = R.prim_to_tensor(operand)
            if wanted == "int64":
                return number
            return R.astype(number if wraps else self.fitting(number, wanted), wanted)
        return constant(operand, wanted, wraps=wraps)

    def fitting(self, number: Value, dtype: str) -> Value:
        """Convert a tensor of one number, which eager torch reads; a value out of the range of `dtype` is an error."""
        info = integer_info(dtype)
        if info is None or str(number.dtype) in (dtype, "bool"):
            return number
        kind = str(number.dtype)
        given = integer_info(kind)
        low, high = _bounds(info, signed=given is not None)
        most: int | float = high
        if given is None:
            kind, most = "float64", math.nextafter(high + 1, 0)
        else:
            low, most = max(low, given.min), min(high, given.max)
            if (low, most) == given:
                return number
        value = number if kind == str(number.dtype) else R.astype(number, kind)
        fits = R.logical_and(R.greater_equal(value, R.const(low, kind)), R.less_equal(value, R.const(most, kind)))
        message = f"{self.node.target}: the number does not fit {dtype} ({info.min} to {info.max})"
        R.assert_op(R.reshape(fits, ()), format=message)
        return number

    def te(self, function: Callable[..., Any], *args: Argument, **kwargs: Argument) -> Value:
        """Emit a tensor expression with one result."""
        found: Value = self.builder.emit_te(function, *args, **kwargs)
        return found

    def drawn(self, draw: Callable[[Value], tuple[Value, Value]]) -> Value:
        """Draw random numbers: `draw` maps the function's current state to the numbers and the next state."""
        if self.importer.random_state is None:
            raise self.unsupported(NO_GENERATOR)
        found, self.importer.random_state = draw(self.importer.random_state)
        return found

    def axis(self, axis: int, rank: int) -> int:
        """Return `axis` as a non-negative integer."""
        return axis % rank if rank else 0

    def unsupported(self, reason: str) -> UnsupportedError:
        """Return the error for an op that is supported, but not with these arguments."""
        return UnsupportedError(reason)


def cast(value: Value, dtype: str) -> Value:
    """Cast `value` to `dtype` with torch's rules: floats round towards zero, everything but zero becomes true."""
    return R.astype(value, dtype)


def constant(number: Number, dtype: str, *, wraps: bool = False) -> Value:
    """Return a number as a tensor of rank 0, rounded to `dtype`. `wraps` and errors: see `converted`."""
    with np.errstate(over="ignore"):
        return R.const(converted(number, dtype, wraps=wraps), dtype)


def converted(number: Number, dtype: str, *, wraps: bool = False) -> Number:
    """Convert a number to `dtype` as torch does. `wraps`: see `OpCall.tensor`.

    Raises:
        DTypeError: the number is out of range of an integer `dtype`. For unsigned dtypes, a negative integer whose
            magnitude is in range always wraps around, as in torch.
    """
    if dtype == "bool":
        return bool(number)
    info = integer_info(dtype)
    if info is None:
        return float(number)
    whole = isinstance(number, int)
    low, high = _bounds(info, signed=whole)
    if not (wraps and whole) and not low <= number <= high:  # NaN is out of range, too
        raise DTypeError(
            f"the number {number} does not fit {dtype} ({info.min} to {info.max}); eager PyTorch refuses it, too. "
            "Convert the tensor to a wider dtype first"
        )
    return (int(number) - info.min) % (info.max - info.min + 1) + info.min


class IntegerInfo(NamedTuple):
    """The bounds of an integer dtype."""

    min: int
    max: int


def integer_info(dtype: str) -> IntegerInfo | None:
    """The bounds of an integer dtype; None for other dtypes."""
    if not dtype.startswith(("int", "uint")):
        return None
    info = np.iinfo(dtype)
    return IntegerInfo(int(info.min), int(info.max))


def _bounds(info: IntegerInfo, *, signed: bool) -> tuple[int, int]:
    """Return the range of numbers that torch converts; unsigned dtypes also accept negative integers if `signed`."""
    return (-info.max if info.min == 0 and signed else info.min), info.max


def _plain(item: Argument) -> Argument:
    """Replace a symbolic number by a Python number of the same type, which determines the dtype."""
    import torch

    if isinstance(item, torch.SymInt):
        return 2
    if isinstance(item, torch.SymFloat):
        return 2.0
    return item


# Core ATen ops that this importer rejects, with the reason; the others have rules or are decomposed.


_GRADIENT = "an op of gradients, which programs for inference do not have"
_BAGS = "bags of embeddings; use embedding, and a sum or mean"
CHANGES = "an op of users that changes its arguments; give it a functional form"
_COMPLEX = "it has complex numbers, which this project does not have"
_MEMORY = "it says where elements lie in memory, which values here do not have; use slices, views and transposes"

REFUSED = {
    "aten._adaptive_avg_pool2d_backward.default": _GRADIENT,
    "aten.avg_pool2d_backward.default": _GRADIENT,
    "aten.convolution_backward.default": _GRADIENT,
    "aten._fft_c2r.default": _COMPLEX,
    "aten._fft_r2c.default": _COMPLEX,
    "aten.complex.default": _COMPLEX,
    "aten.polar.default": _COMPLEX,
    "aten.as_strided.default": _MEMORY,
    "aten.atan2.out": "it writes into its argument `out`; functional programs have aten.atan2.default",
    "aten._embedding_bag.default": _BAGS,
    "aten._embedding_bag_forward_only.default": _BAGS,
    "aten._pdist_forward.default": "distances of all pairs of rows; use cdist",
}
"""The reasons by op name."""


def reason(name: str, result: FakeTensor) -> str:
    """Return why there is no rule for an op with this result."""
    known = _COMPLEX if getattr(getattr(result, "dtype", None), "is_complex", False) else "no rule"
    if name.startswith("auto_functionalized"):  # torch's wrapper of an op that changes its arguments
        return CHANGES
    return REFUSED.get(name, known)


RANDOM = frozenset(
    f"aten.{name}"
    for name in (
        *(
            "rand.default",
            "rand_like.default",
            "randn.default",
            "randn_like.default",
            "normal_functional.default",
        ),
        *(
            "uniform.default",
            "randint.default",
            "randint.low",
            "randint_like.default",
            "randint_like.low_dtype",
        ),
        *("randperm.default", "bernoulli.default", "bernoulli.p", "multinomial.default"),
    )
)
"""Ops that draw random numbers; dropout also does, in training."""
DROPOUT = frozenset({"aten.dropout.default", "aten.native_dropout.default"})


def draws(graph_module: GraphModule) -> bool:
    """True if a graph, or one that its control flow calls, draws random numbers."""
    graphs = [getattr(module, "graph", None) for module in graph_module.modules()]
    return any(_draws(node) for graph in graphs if graph is not None for node in graph.nodes)


def _draws(node: Node) -> bool:
    name = str(node.target)
    return name in RANDOM or bool(name in DROPOUT and len(node.args) > 2 and node.args[2] and node.args[1])


# Nodes that need no rule: arithmetic of sizes, which is part of the shapes, and redundant checks.


CHECKS = (
    "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
)
"""Torch's checks that always hold if shapes, dtypes and guards do."""

_EFFECTS = ("aten._assert_scalar.default", "aten._local_scalar_dense.default", "aten.item.default")
"""Ops that have rules although no result is a tensor."""


def is_ignored(node: Node) -> bool:
    """True if nothing is emitted for a node."""
    name = str(node.target)
    if name in CHECKS:
        return True
    return name not in _EFFECTS and _is_number(node.meta.get("val"))


def _is_number(value: Size) -> bool:
    return isinstance(value, bool | int | float) or type(value).__name__ in ("SymInt", "SymFloat", "SymBool")
