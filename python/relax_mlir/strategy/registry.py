"""The strategies of each op: the built-in ones, and those that users register."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from relax_mlir.dialects.base import op_classes
from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.target import Target

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor

Strategy: TypeAlias = "Callable[[Attrs, Sequence[Tensor], StructInfo, Target], OpStrategy]"
"""Takes the attributes of a call, placeholders for its operands, the struct info of its result and the target;
returns the implementations for the call.
"""


@dataclass(frozen=True)
class Registered:
    """A strategy, and the target for which it was registered."""

    strategy: Strategy
    target: str

    def is_for(self, target: Target) -> bool:
        """True if `target` has the features for which the strategy was registered."""
        return _features(self.target) <= target.features


_BUILT_IN = {
    **{f"relax.nn_conv{rank}d": ("convolution_schedules", "convolution") for rank in (1, 2, 3)},
    **{f"relax.{name}": ("sorting", name) for name in ("argsort", "sort", "topk")},
    "relax.reverse_sequence": ("reverse_sequence", "reverse_sequence"),
    "relax.einsum": ("einsum", "einsum"),
    "relax.logsumexp": ("reduce", "logsumexp"),
    "relax.layout_transform": ("layout_transform", "layout_transform"),
    "relax.hamming_window": ("signal", "hamming_window"),
    "relax.random_words": ("random", "words"),
    **{
        f"relax.{name}": ("quantiles", name)
        for name in ("bucketize", "median", "multinomial_from_uniform", "searchsorted")
    },
    **{f"relax.{name}": ("gather", name) for name in ("gather_elements", "gather_nd", "index_tensor")},
    **{f"relax.{name}": ("scatter", name) for name in ("index_put", "scatter_elements", "scatter_nd")},
    "relax.nn_pad": ("padding", "pad"),
    "relax.nn_attention_var_len": ("attention_var_len", "attention_var_len"),
    **{f"relax.nn_{name}_steps": ("recurrent", f"{name}_steps") for name in ("gru", "lstm", "rnn")},
    **{
        f"relax.grad_{name}": ("gradients", name)
        for name in ("avg_pool2d_backward", "max_pool2d_backward", "nll_loss_backward", "take_backward")
    },
    **{
        f"relax.vision_{name}": ("boxes", name)
        for name in (
            *("all_class_non_max_suppression", "get_valid_counts", "multibox_transform_loc"),
            *("non_max_suppression", "roi_align", "roi_pool"),
        )
    },
    **{f"relax.image_resize{rank}d": ("image", "resize") for rank in (2, 3)},
    **{f"relax.image_{name}": ("image", name) for name in ("affine_grid", "grid_sample")},
    **{f"relax.nn_{name}": ("rearrange", name) for name in ("pixel_shuffle", "pixel_unshuffle")},
    "relax.nn_cross_entropy_with_logits": ("losses", "cross_entropy"),
    "relax.nn_nll_loss": ("losses", "nll_loss"),
    **{
        f"relax.nn_adaptive_{kind}_pool{rank}d": ("adaptive_pooling", f"{kind}_pool")
        for kind in ("avg", "max")
        for rank in (1, 2, 3)
    },
}
"""Built-in strategies, by the names of ops in the IR: (file of `implementations`, function)."""

_registered: dict[str, list[Registered]] = {}


def register_strategy(op: str, target: str = "cpu") -> Callable[[Strategy], Strategy]:
    """Register a strategy for an op, in addition to those that the op already has.

    Args:
        op: the op's name (``"relax.matmul"``, ``"matmul"``, ``"relax.nn.softmax"``).
        target: ``"cpu"``, or with the features that its implementations need: ``"cpu -mattr=+avx512f"``.

    The decorated function gets the attributes of a call, placeholders for its tensors, the struct info of its result
    and the target, and returns an `OpStrategy`. Undo with `unregister_strategy`.

    Raises:
        UnknownNameError: there is no such op.
        ArgumentError: no such target.
    """
    name = _ir_name(op)
    _features(target)

    def register(strategy: Strategy) -> Strategy:
        if not callable(strategy):
            raise ArgumentError(f"register_strategy '{op}': {strategy!r} is no function")
        _registered.setdefault(name, []).append(Registered(strategy, target))
        return strategy

    return register


def unregister_strategy(op: str, strategy: Strategy) -> None:
    """Remove a strategy that `register_strategy` added; raises `ArgumentError` if it is not registered."""
    name = _ir_name(op)
    left = [item for item in _registered.get(name, []) if item.strategy is not strategy]
    if len(left) == len(_registered.get(name, [])):
        raise ArgumentError(f"unregister_strategy '{op}': {strategy!r} is not registered")
    if left:
        _registered[name] = left
    else:
        del _registered[name]


@contextmanager
def temporary_strategy(op: str, strategy: Strategy, target: str = "cpu") -> Iterator[None]:
    """Register a strategy for the duration of the ``with`` block."""
    register_strategy(op, target)(strategy)
    try:
        yield
    finally:
        unregister_strategy(op, strategy)


def registered_for(op_name: str, target: Target) -> list[Strategy]:
    """The strategies that users have registered for an op (by its name in the IR), the latest first."""
    return [item.strategy for item in reversed(_registered.get(op_name, [])) if item.is_for(target)]


def built_in(op_name: str) -> list[Strategy]:
    """The built-in tensor-expression strategy of an op (by its name in the IR), as a list of at most one."""
    if op_name not in _BUILT_IN:
        return []
    family, name = _BUILT_IN[op_name]
    # Imported lazily: tensor expressions take a while to import, and most modules do not need them.
    module = importlib.import_module(f"relax_mlir.strategy.implementations.{family}")
    strategy: Strategy = getattr(module, name)
    return [strategy]


def has_expressions(op_name: str, target: Target) -> bool:
    """True if an op (by its name in the IR) has strategies with tensor expressions, built-in or of a user."""
    return op_name in _BUILT_IN or bool(registered_for(op_name, target))


def registrations() -> tuple[tuple[str, int], ...]:
    """A key of the registered strategies, equal as long as these do not change."""
    return tuple((name, id(item.strategy)) for name, items in _registered.items() for item in items)


def any_registered() -> bool:
    """True if users have registered strategies, so that a compilation depends on more than the module's text."""
    return bool(_registered)


def _ir_name(op: str) -> str:
    """The name of an op in the IR: ``relax.nn_softmax``."""
    from relax_mlir.op.op_registry import op_class_of  # imported only when a strategy is registered

    expect("register_strategy: 'op'", op, str, "the name of an op")
    found = op_class_of(op)
    if found is None:
        raise UnknownNameError("op of Relax", op, sorted(op_classes()))
    return found.OPERATION_NAME


def _features(target: str) -> frozenset[str]:
    """The CPU features that a target string requires."""
    expect("register_strategy: 'target'", target, str, "the text of a target")
    Target(target)
    words = [word.removeprefix("-mattr=") for word in target.split() if word.startswith("-mattr=")]
    return frozenset(f[1:] for word in words for f in word.split(",") if f.startswith("+"))
