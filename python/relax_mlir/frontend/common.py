"""Shared code of importers: progress bars, the error that lists unsupported ops, top-k of exactly k elements."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir import op as R
from relax_mlir import symbolic, terminal
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError, UnsupportedError
from relax_mlir.runtime.build_setup import listening
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from rich.progress import Progress


# Progress bars for the import and compilation of large models, on terminals only.


MIN_NODES = 200
"""Models with fewer nodes are imported quickly and get no bar."""


class _ThreadState(threading.local):
    """True while this thread shows a bar or bars are hidden."""

    busy = False


_state = _ThreadState()


@contextmanager
def hidden() -> Iterator[None]:
    """Hide bars of this thread within the context, while other code reports progress."""
    before, _state.busy = _state.busy, True
    try:
        yield
    finally:
        _state.busy = before


@contextmanager
def importing(what: str, nodes: int) -> Iterator[Callable[[], None]]:
    """Show a bar for the import of `nodes` nodes of `what`; call the yielded function after each node."""
    with _bar(nodes) as bar:
        if bar is None:
            yield lambda: None
            return
        task = bar.add_task(f"importing {what}", total=nodes)
        yield lambda: bar.advance(task)


@contextmanager
def compiling(nodes: int) -> Iterator[None]:
    """Show a bar with the current step of `relax_mlir.build`, for a model of `nodes` nodes."""
    with _bar(nodes) as bar:
        if bar is None:
            yield
            return
        task = bar.add_task("compiling", total=None)
        with listening(lambda step: bar.update(task, description=f"compiling: {step}")):
            yield


@contextmanager
def _bar(nodes: int) -> Iterator[Progress | None]:
    """Yield a transient bar; None if no bar should be shown."""
    if _state.busy or nodes < MIN_NODES or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr, width=terminal.width())
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    with hidden(), Progress(*columns, console=console, transient=True) as bar:
        yield bar


# Collect all unsupported ops of a program in one error.


_PLACES = 3
"""The maximum number of locations per op in a message."""


@dataclass
class UnsupportedOps:
    """The unsupported ops of an import, with reasons, counts and locations."""

    program: str
    """The name of the imported program in messages: ``the exported program``, ``model.onnx``."""
    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Locations by op and reason."""

    def add(self, op: str, reason: str, place: str) -> None:
        """Record that `op` at `place` (empty: unknown) is not supported, and why."""
        self.found.setdefault((op, reason), []).append(place)

    def __bool__(self) -> bool:
        return bool(self.found)

    def error(self, advice: str = "") -> UnsupportedError:
        """Return one error for all ops, the most frequent ones first."""
        rows = sorted(self.found.items(), key=lambda item: (-len(item[1]), item[0]))
        kinds = len({op for op, _ in self.found})
        head = f"{self.program} uses {kinds} op{'s' * (kinds != 1)} that this importer does not support:"
        lines = [f"  {op} ({len(places)}×): {reason}{_at(places)}" for (op, reason), places in rows]
        return UnsupportedError("\n".join([head, *lines, *([advice] if advice else [])]))


def _at(places: Iterable[str]) -> str:
    known = list(dict.fromkeys(place for place in places if place))
    if not known:
        return ""
    more = f", and {len(known) - _PLACES} more" if len(known) > _PLACES else ""
    return f"; at {', '.join(known[:_PLACES])}{more}"


# Top-k as other frameworks define it: exactly k elements, unlike Relax's `topk`.


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
