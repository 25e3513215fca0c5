"""Functions and nested blocks under construction. A value knows the frame that created it.

MLIR frees values together with the op around them, even if Python still references them. Three rules:

1. A value holds its frame, and a frame holds the module of its function and the ops abandoned in it.
2. An op whose construction failed leaves its function and no longer uses outside values: either may be freed
   first. Values created in it can be printed, but not used.
3. A value of one function cannot be used while another one is built.

The bindings keep a stack of insertion points per thread, and always pop the top. Frames may be left in any order (by
generators, and by the garbage collector, in any thread): a frame that is not the innermost is popped later, by its own
thread.
"""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Any

from relax_mlir.error import ArgumentError
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir


class _Thread(threading.local):
    """The frames that this thread has entered, innermost last."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []


class Guard:
    """The check of a value before its use."""

    def check(self, value: object) -> None:
        """Raise `ArgumentError` unless `value` may be used now."""
        raise NotImplementedError  # abstract


class Frame(Guard, contextlib.AbstractContextManager["Frame"]):
    """A function, or a nested construct, under construction; inside ``with``, ops are appended to `block`.

    Args:
        what: description for messages.
        block: the block that ops are appended to; None keeps the current insertion point.
        unfinished: the op to abandon when the ``with`` block raises.
        module: the owner of the function, for a function's frame; other frames belong to the innermost frame.
        contexts: context managers to enter before the insertion point.
    """

    def __init__(
        self,
        what: str,
        block: ir.Block | None = None,
        *,
        unfinished: ir.Operation | None = None,
        module: object | None = None,
        contexts: tuple[contextlib.AbstractContextManager[Any], ...] = (),
    ) -> None:
        self.what, self.unfinished = what, unfinished
        self.lost: str | None = None
        self.module = module
        self._abandoned: list[ir.Operation] = []
        self._outer = None if module is not None else current()
        self._left = False
        self._contexts = (*contexts, *(() if block is None else (ir.InsertionPoint(block),)))
        self._entered = contextlib.ExitStack()

    @property
    def _root(self) -> Frame:
        """The frame of the function; no frame refers to itself, so that a module is freed with its last user."""
        frame = self
        while frame._outer is not None:
            frame = frame._outer
        return frame

    def __enter__(self) -> Frame:
        current()
        with contextlib.ExitStack() as entering:
            for item in self._contexts:
                entering.enter_context(item)
            self._entered = entering.pop_all()
        _thread.frames.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        innermost = current() is self
        self._left = True
        current()
        if error is None and not innermost:
            error = ArgumentError(f"{self.what} is left while another function is built inside it")
            self.lose(error)
            raise error
        if error is not None:
            self.lose(error)

    def lose(self, error: BaseException | str) -> None:
        """Abandon the unfinished op; values created in the frame become unusable."""
        if self.lost is not None:
            return
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}".split("\n")[0]
        self.lost = f"belongs to {self.what}, which was given up ({reason.rstrip(': ')})"
        if self.unfinished is not None:
            self._root._abandoned.append(abandoned(self.unfinished))

    def replaced(self, op: ir.Operation) -> None:
        """Remove the finished function `op`, which another one replaces, from the module."""
        self._abandoned.append(abandoned(op))
        self.lost = f"belongs to {self.what}, which has been replaced"

    def check(self, value: object) -> None:
        """Raise `ArgumentError` unless a value of this frame may be used in the innermost frame, if there is one."""
        here = current()
        if here is self or here is None:
            return
        frame: Frame | None = self
        while frame is not None:
            if frame.lost is not None:
                raise ArgumentError(f"{value!r} {frame.lost}")
            frame = frame._outer
        if here._root is not self._root:
            raise ArgumentError(
                f"{value!r} belongs to {self._root.what}, but is used in {here._root.what}: "
                "pass it as an argument, or make it there"
            )


_thread = _Thread()


def current() -> Frame | None:
    """The innermost frame of this thread that has not been left."""
    frames = _thread.frames
    while frames and frames[-1]._left:
        frames.pop()._entered.close()
    return frames[-1] if frames else None


def inserting(block: ir.Block, what: str = "a block") -> contextlib.AbstractContextManager[object]:
    """A context in which ops are appended to `block`, which is part of the function under construction."""
    return ir.InsertionPoint(block) if current() is None else Frame(what, block)


def unfinished(op: ir.Operation, what: str) -> Frame:
    """A context that completes `op`; the op is removed from its function if the context raises."""
    return Frame(what, unfinished=op)


def abandoned(op: ir.Operation) -> ir.Operation:
    """Detach `op` from its block; outside values that it uses become block arguments inside it."""
    whole = op.operation
    inside: set[ir.Value] = {value for item in _ops_in(whole) for value in item.results}
    inside.update(a for item in _ops_in(whole) for region in item.regions for b in region.blocks for a in b.arguments)
    for region in whole.regions:
        # One argument per region: MLIR frees a region before it visits the next one.
        nested = [item for block in region.blocks for view in block.operations for item in _ops_in(view.operation)]
        if nested:
            _cut(nested, inside, region.blocks[0], whole.location)
    _cut([whole], set(), entry_block(whole), whole.location)
    if whole.parent is not None:
        whole.detach_from_parent()
    return whole


def _cut(ops: list[ir.Operation], inside: set[ir.Value], block: ir.Block, location: ir.Location) -> None:
    """Replace operands of `ops` that are not in `inside` by new arguments of `block`."""
    own: dict[ir.Value, ir.Value] = {}
    for op in ops:
        for index, operand in enumerate(op.operands):
            if operand in inside:
                continue
            if operand not in own:
                own[operand] = block.add_argument(operand.type, location)
            op.operands[index] = own[operand]


def _ops_in(op: ir.Operation) -> list[ir.Operation]:
    """`op` and the ops inside it, at any depth."""
    found = [op]
    for item in found:
        for region in item.regions:
            found += [view.operation for block in region.blocks for view in block.operations]
    return found
