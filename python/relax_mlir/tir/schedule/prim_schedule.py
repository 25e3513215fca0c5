"""`tir.Schedule`: schedule primitives on prim funcs, by block name; and `tir.TensorIntrin`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import te
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.location import user_frame_position
from relax_mlir.error import ArgumentError, ScheduleError, UnknownNameError, expect
from relax_mlir.ir_module import IRModule, put
from relax_mlir.mlir import func
from relax_mlir.te.expressions import IterVar
from relax_mlir.te.schedule.lower import build_scheduled
from relax_mlir.te.schedule.schedule import Schedule as StageSchedule
from relax_mlir.te.schedule.schedule import copied_output, create_schedule
from relax_mlir.te.schedule.stage import AttachedAt, Following, Stage
from relax_mlir.te.schedule.tensor_intrin import PrimFunc, declare, only_function
from relax_mlir.te.tensors import ComputeOp
from relax_mlir.tir.schedule.lift import Lifted, lift


@dataclass(frozen=True, eq=False)
class Block:
    """A block of a prim func: a computation that fills a buffer."""

    name: str
    function: str
    stage: Stage


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop around a block."""

    axis: IterVar
    function: str
    stage: Stage

    @property
    def name(self) -> str:
        """The name of its variable."""
        return self.axis.name


@dataclass
class _Function:
    """One prim func: its tensor expressions, and their schedule."""

    lifted: Lifted
    schedule: StageSchedule
    blocks: dict[str, Block]


@dataclass
class PrimTrace:
    """The primitives of a schedule as Python code; `apply` repeats them."""

    lines: list[tuple[tuple[str, ...], str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def __str__(self) -> str:
        return "".join(f"{_line(*line)}\n" for line in self.lines)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrimTrace) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    def apply(self, schedule: Schedule) -> None:
        """Repeat the primitives on the schedule of another module; raises the errors of the primitives."""
        known: dict[str, Any] = {}

        def given(value: Any) -> Any:  # noqa: ANN401 - an argument
            if isinstance(value, list | tuple):
                return [given(item) for item in value]
            return known[value.name] if isinstance(value, _Name) else value

        for targets, method, args, kwargs in list(self.lines):
            found = getattr(schedule, method)(*map(given, args), **{k: given(v) for k, v in kwargs.items()})
            results = found if isinstance(found, list | tuple) else [found]
            known.update(zip(targets, results, strict=False))


@dataclass(frozen=True)
class _Name:
    """A block or loop in a trace."""

    name: str

    def __repr__(self) -> str:
        return self.name


def _line(targets: tuple[str, ...], method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    shown = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    left = f"{', '.join(targets)}{',' if method == 'get_loops' and len(targets) == 1 else ''} = " if targets else ""
    return f"{left}sch.{method}({', '.join(shown)})"


class Schedule:
    """Schedules of the loops of prim funcs, with the primitives of TVM's `tir.Schedule`.

    The prim funcs are sequences of loop nests that fill buffers, as written with `T.block` or by `te`. A block is
    found by its name, or by that of its buffer. `mod` is the scheduled module; the original module is unchanged.
    """

    def __init__(self, mod: IRModule) -> None:
        expect("tir.Schedule: 'mod'", mod, IRModule, "an IRModule")
        self._mod = mod
        self._functions: dict[str, _Function] = {}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self.trace = PrimTrace()

    def __repr__(self) -> str:
        return str(self.trace)

    @property
    def mod(self) -> IRModule:
        """The module with the scheduled prim funcs."""
        work = self._mod.clone()
        for name, function in self._functions.items():
            lifted = function.lifted
            made = build_scheduled(function.schedule, [*lifted.inputs, *lifted.outputs], name, integers=lifted.integers)
            put(work.mlir, name, made.module[name])
        return work

    # -- blocks and loops

    def get_block(self, name: str, func_name: str = "main") -> Block:
        """The block `name` of a prim func. Raises UnknownNameError if there is none."""
        with self._recorded("get_block", name, func_name=func_name) as results:
            blocks = self._function(func_name).blocks
            if name not in blocks:
                raise UnknownNameError("block", name, blocks)
            results.append(blocks[name])
        return blocks[name]

    def get_loops(self, block: Block) -> list[Loop]:
        """The loops around a block, outermost first."""
        with self._recorded("get_loops", block) as results:
            results += self._loops(block.stage, block.function)
        return list(results)

    def _loops(self, stage: Stage, function: str) -> list[Loop]:
        found = [Loop(axis, function, stage) for axis in stage.leaf_iter_vars]
        place = stage.place
        while isinstance(place, AttachedAt | Following):
            outer = place.stage
            inside = next(n for n, axis in enumerate(outer.leaf_iter_vars) if axis is place.axis)
            found = [Loop(axis, function, outer) for axis in outer.leaf_iter_vars[: inside + 1]] + found
            place = outer.place
        return found

    # -- primitives

    def split(self, loop: Loop, factors: Sequence[int | None]) -> list[Loop]:
        """Split a loop into as many loops as `factors`; one of these may be None, to be computed from the others.

        Raises:
            ScheduleError: a factor less than 1, or the product of the factors is less than the length.
        """
        with self._recorded("split", loop, factors=list(factors)) as results:
            what = f"sch.split({loop.name}, {list(factors)})"
            numbers = list(factors)
            if len(numbers) < 2 or numbers.count(None) > 1:
                raise self._error(what, "give two factors or more, of which one may be None", loop)
            self._require_reached(what, loop, numbers)
            left = numbers.index(None) if None in numbers else 0
            rest = loop.axis
            inner: list[IterVar] = []
            outer: list[IterVar] = []
            for number in reversed(numbers[left + 1 :]):
                rest, part = loop.stage.split(rest, factor=number)
                inner.insert(0, part)
            for number in numbers[:left]:
                part, rest = loop.stage.split(rest, nparts=number)
                outer.append(part)
            results += [Loop(axis, loop.function, loop.stage) for axis in (*outer, rest, *inner)]
        return list(results)

    def _require_reached(self, what: str, loop: Loop, numbers: list[int | None]) -> None:
        if None in numbers:
            return
        product = 1
        for number in numbers:
            product *= number if isinstance(number, int) else 1
        length = loop.axis.dom.extent
        if not isinstance(length, int) or product < length:
            raise self._error(
                what,
                f"the product {product} is not known to reach the length {length}: let one factor be None",
                loop,
            )

    def fuse(self, *loops: Loop) -> Loop:
        """Fuse consecutive loops into one."""
        with self._recorded("fuse", *loops) as results:
            stage = self._one_stage("fuse", loops)
            fused = Loop(stage.fuse(*(loop.axis for loop in loops)), loops[0].function, stage)
            results.append(fused)
        return fused

    def reorder(self, *loops: Loop) -> None:
        """Reorder loops."""
        with self._recorded("reorder", *loops):
            self._one_stage("reorder", loops).reorder(*(loop.axis for loop in loops))

    def parallel(self, loop: Loop) -> None:
        """Run the iterations of a loop on several threads."""
        with self._recorded("parallel", loop):
            loop.stage.parallel(loop.axis)

    def vectorize(self, loop: Loop) -> None:
        """Vectorize a loop."""
        with self._recorded("vectorize", loop):
            loop.stage.vectorize(loop.axis)

    def unroll(self, loop: Loop) -> None:
        """Unroll a loop."""
        with self._recorded("unroll", loop):
            loop.stage.unroll(loop.axis)

    def bind(self, loop: Loop, thread_axis: str) -> None:
        """Raise `ScheduleError`, because there are no GPU threads."""
        loop.stage.bind(loop.axis, thread_axis)

    def compute_at(self, block: Block, loop: Loop) -> None:
        """Compute a block inside a loop of its consumer, only the region that is read there."""
        with self._recorded("compute_at", block, loop):
            block.stage.compute_at(loop.stage, loop.axis)

    def reverse_compute_at(self, block: Block, loop: Loop) -> None:
        """Compute a block inside a loop of its producer, as soon as its inputs are computed."""
        with self._recorded("reverse_compute_at", block, loop):
            block.stage.reverse_compute_at(loop.stage, loop.axis)

    def compute_inline(self, block: Block) -> None:
        """Compute the elements of a block where they are read."""
        with self._recorded("compute_inline", block):
            block.stage.compute_inline()

    def set_scope(self, block: Block, buffer_index: int, storage_scope: str) -> None:
        """Set the memory scope of the buffer that a block fills; `buffer_index` is 0."""
        with self._recorded("set_scope", block, buffer_index, storage_scope):
            block.stage.set_scope(storage_scope)

    def cache_read(self, block: Block, read_buffer_index: int, storage_scope: str) -> Block:
        """Make a block read a copy of its input number `read_buffer_index`; return the block that copies."""
        with self._recorded("cache_read", block, read_buffer_index, storage_scope) as results:
            read = block.stage.op.input_tensors
            if not isinstance(read_buffer_index, int) or not 0 <= read_buffer_index < len(read):
                raise ArgumentError(
                    f"sch.cache_read: buffer {read_buffer_index!r} of block '{block.name}', which reads {len(read)}"
                )
            schedule = self._functions[block.function].schedule
            copy = schedule.cache_read(read[read_buffer_index], storage_scope, [block.stage.op])
            made = self._block(schedule[copy], block.function)
            results.append(made)
        return made

    def cache_write(self, block: Block, write_buffer_index: int, storage_scope: str) -> Block:
        """Make a block fill a new buffer, and return the block that copies it to the original; `write_buffer_index` is
        0.

        Unlike with `te.Schedule`, the loops stay with the computing block.
        """
        with self._recorded("cache_write", block, write_buffer_index, storage_scope) as results:
            schedule = self._functions[block.function].schedule
            copy = copied_output(schedule, block.stage, storage_scope)
            made = self._block(copy, block.function, f"{block.name}_{storage_scope}")
            results.append(made)
        return made

    def rfactor(self, loop: Loop, factor_axis: int = 0) -> Block:
        """Compute partial results, one per iteration of a reduction loop; return the block that computes them."""
        with self._recorded("rfactor", loop, factor_axis) as results:
            schedule = self._functions[loop.function].schedule
            partial = schedule.rfactor(loop.stage.tensors[0], loop.axis, factor_axis)
            made = self._block(schedule[partial], loop.function)
            results.append(made)
        return made

    def tensorize(self, block_or_loop: Block | Loop, tensor_intrin: str | te.TensorIntrin) -> None:
        """Replace a loop and its inner loops, or all loops of a block, with an intrinsic, given by name.

        Raises:
            ScheduleError: the loops do not match the intrinsic.
        """
        with self._recorded("tensorize", block_or_loop, tensor_intrin):
            stage = block_or_loop.stage
            if isinstance(block_or_loop, Block) and not stage.leaf_iter_vars:
                raise ScheduleError(
                    f"sch.tensorize({block_or_loop.name})",
                    "the block has no loops",
                    stage.name,
                    None,
                    user_frame_position(),
                )
            axis = block_or_loop.axis if isinstance(block_or_loop, Loop) else stage.leaf_iter_vars[0]
            stage.tensorize(axis, tensor_intrin)

    # -- helpers

    def _function(self, name: str) -> _Function:
        if name not in self._functions:
            prims = {
                op.name.value: op
                for op in self._mod.mlir.body.operations
                if isinstance(op, func.FuncOp) and PRIM_FUNC in op.attributes
            }
            if name not in prims:
                raise UnknownNameError("prim func", name, prims)
            with self._mod.context:
                lifted = lift(prims[name])
            schedule = create_schedule([tensor.op for tensor in lifted.outputs])
            for op, loops in lifted.loops.items():
                if op in schedule.stage_map:
                    schedule[op].leaf_iter_vars = list(loops)
            self._functions[name] = _Function(lifted, schedule, {})
            for title, tensor in lifted.blocks.items():
                if tensor.op in schedule.stage_map:
                    self._block(schedule[tensor], name, title)
        return self._functions[name]

    def _block(self, stage: Stage, function: str, name: str = "") -> Block:
        block = Block(name or stage.name, function, stage)
        self._functions[function].blocks[block.name] = block
        return block

    def _one_stage(self, method: str, loops: Sequence[Loop]) -> Stage:
        if not loops:
            raise ArgumentError(f"sch.{method}: no loop is given")
        first = loops[0].stage
        for loop in loops:
            if loop.stage is not first:
                raise self._error(
                    f"sch.{method}({', '.join(item.name for item in loops)})",
                    f"{loop.name} is a loop of {loop.stage.name}, and {loops[0].name} one of {first.name}",
                    loop,
                )
        return first

    def _error(self, what: str, reason: str, loop: Loop) -> ScheduleError:
        return ScheduleError(what, reason, loop.stage.name, loop.name, user_frame_position())

    @contextmanager
    def _recorded(self, method: str, *args: Any, **kwargs: Any) -> Iterator[list[Any]]:  # noqa: ANN401 - arguments
        for value in args:
            if method != "get_block" and not isinstance(value, Block | Loop | te.TensorIntrin | int | str):
                raise ArgumentError(
                    f"sch.{method}: {value!r} ({type(value).__name__}) is no block or loop of a schedule"
                )
        results: list[Any] = []
        yield results
        targets = tuple(self._named(value) for value in results)
        self.trace.lines.append((targets, method, tuple(map(self._shown, args)), kwargs))

    def _named(self, value: Block | Loop) -> str:
        """A variable for a block or loop."""
        prefix = "b" if isinstance(value, Block) else "l"
        self._kept.append(value)
        name = f"{prefix}{sum(known.startswith(prefix) for known in self._names.values())}"
        return self._names.setdefault(id(value), name)

    def _shown(self, value: Any) -> Any:  # noqa: ANN401 - an argument
        if isinstance(value, Block | Loop):
            return _Name(self._names.get(id(value)) or self._named(value))
        return value


class TensorIntrin:
    """Intrinsics for `Schedule.tensorize`, by name; includes those of `te.TensorIntrin`."""

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> te.TensorIntrin:
        """Register an intrinsic.

        Args:
            name: the name for schedules.
            desc: the semantics: a prim func with one loop nest. With a `T.init` it computes a complete reduction; a
                reduction without one combines with the existing values, which the schedule's loops initialize.
            impl: the implementation: a prim func with the same parameters.
            override: replace the intrinsic of this name.

        Raises:
            ArgumentError: the prim funcs do not match, or the name is in use.
            UnsupportedError: `desc` is not a loop nest that fills a buffer.
        """
        what = f"TensorIntrin.register '{name}'"
        expect(f"{what}: 'desc'", desc, IRModule | func.FuncOp, 'a prim func: a module of one, or mod["f"]')
        function = only_function(f"{what}: 'desc'", desc) if isinstance(desc, IRModule) else desc
        with function.context:
            lifted = lift(function, continues=True)
        ops = list(dict.fromkeys(tensor.op for tensor in lifted.blocks.values()))
        if len(ops) != 1:
            raise ArgumentError(f"{what}: 'desc' has {len(ops)} loop nests, and an intrinsic is one")
        (op,) = ops
        assert isinstance(op, ComputeOp)
        parts = (None, None, impl) if lifted.continued else impl
        made = declare(what, name, op, lifted.inputs, lambda ins, outs: parts, {})
        return te.TensorIntrin.register(name, made, override)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> te.TensorIntrin | None:
        """The intrinsic `name`. Raises UnknownNameError if there is none; returns None with `allow_missing`."""
        try:
            return te.TensorIntrin.get(name)
        except UnknownNameError:
            if allow_missing:
                return None
            raise
