"""Build prim funcs from schedules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, overload

from relax_mlir.dialects.attributes import SCHEDULED_FROM
from relax_mlir.dialects.kernel_seals import seal
from relax_mlir.error import ArgumentError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.script.parser import parse
from relax_mlir.symbolic import Condition
from relax_mlir.te.graph import operations_of, symbols_of
from relax_mlir.te.prim_func import FILE, TEFunction, check_parameters, integers_of, locate
from relax_mlir.te.schedule.facts import factor_text
from relax_mlir.te.schedule.lower import ScheduledWriter
from relax_mlir.te.schedule.plan import Plan
from relax_mlir.te.schedule.schedule import Schedule
from relax_mlir.te.source import Writer
from relax_mlir.te.tensors import Operation, PlaceholderOp, Tensor

PLAIN = "plain"
"""Name of the unscheduled computation."""
INTRINSIC = "intrinsic"
"""Name prefix of prim funcs that replace loops; a number follows."""
_NAME = re.compile(r'sym_name = "[^"]*"')


@overload
def lower(
    inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: Literal[True]
) -> str: ...
@overload
def lower(
    inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: Literal[False] = False
) -> IRModule: ...
def lower(
    inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: bool = False
) -> IRModule | str:
    """Build a module with the prim func `name` that computes the outputs of a schedule, or its loops as text.

    Args:
        inp: the schedule.
        args: the parameters: the inputs (placeholders), then the outputs of the schedule. An integer parameter follows
            for each symbol that is not by itself a dimension of a tensor.
        name: an identifier.
        simple_mode: return the loops as a script, for inspection.

    Raises:
        ArgumentError: an input or output that is missing.
        ScheduleError: a stage is computed inside a loop that not all of its readers are in.
    """
    expect("lower: 'inp'", inp, Schedule, "a te.Schedule (te.create_schedule gives one)")
    if simple_mode:
        return _writer(inp, args, name)[1]
    return build_scheduled(inp, args, name).module


def build_scheduled(
    schedule: Schedule,
    args: Sequence[Tensor],
    name: str,
    integers: Sequence[str] | None = None,
    context: ir.Context | None = None,
) -> TEFunction:
    """Build the prim func `name` with the loops of a schedule.

    `integers` are its parameters after the tensors; None: the symbols that need one. `context` is that of its module;
    None: a new one.
    """
    writer, text = _writer(schedule, args, name, integers)
    module = parse(text, name=FILE, context=context)
    locate(module, name, writer)
    if not writer.integers:  # an integer parameter may be negative, and loop bounds assume non-negative sizes
        _claim(module, name, args, [writer.plan])
    return TEFunction(name, module, tuple(writer.integers))


def build_by_size(
    ways: Sequence[tuple[Condition | None, Schedule]],
    args: Sequence[Tensor],
    name: str,
    context: ir.Context | None = None,
) -> TEFunction:
    """Build the prim func `name` that runs the loops of the first schedule whose condition holds.

    Args:
        ways: conditions on symbols of `args`, with schedules of the same outputs; the last one has no condition.
        args: the parameters, as for `lower`.
        context: that of its module; None: a new one.
    """
    *_, (_, last) = ways
    if len(ways) == 1:
        return build_scheduled(last, args, name, context=context)
    lines: list[str] = []
    starts: list[tuple[int, Operation]] = []
    plans: list[Plan] = []
    for number, (condition, schedule) in enumerate(ways):
        writer, _ = _writer(schedule, args, name)
        head, body = writer.lines[:HEAD], writer.lines[HEAD:]
        lines += head if not lines else []
        word = "else" if condition is None else f"{'elif' if number else 'if'} {_text(condition)}"
        lines.append(f"    {word}:")
        plans.append(writer.plan)
        starts += [(len(lines) + line - HEAD, op) for line, op in writer.starts]
        lines += [f"    {line}" for line in body]
    module = parse("\n".join(lines) + "\n", name=FILE, context=context)
    writer.starts = starts
    locate(module, name, writer)
    if not writer.integers:
        _claim(module, name, args, plans)
    return TEFunction(name, module, tuple(writer.integers))


HEAD = 2
"""The number of lines before the body of a prim func: the decorator, and the parameters."""


def _text(condition: Condition) -> str:
    return f"{factor_text(condition.left)} {condition.relation} {factor_text(condition.right)}"


def _claim(module: IRModule, name: str, args: Sequence[Tensor], plans: Sequence[Plan]) -> None:
    """Record the unscheduled computation of the prim func, and the prim funcs that replace loops.

    Nothing is recorded if an intrinsic may access elements that the loops do not.
    """
    intrins = [
        stage.tensorized.intrin for plan in plans for stage in plan.stages if stage.tensorized is not None
    ]
    if not all(intrin.covers for intrin in intrins):
        return
    texts = dict.fromkeys(item.text for intrin in intrins for item in intrin.implementations)
    operations = operations_of([t for t in args if not isinstance(t.op, PlaceholderOp)])
    plain = parse(Writer(PLAIN, args, (), blocks=False).write(operations), name=FILE, context=module.context)
    text = str(plain[PLAIN].operation.get_asm(print_generic_op_form=True, use_local_scope=True))
    with module.context:
        function = module[name]
        renamed = [_NAME.sub(f'sym_name = "{INTRINSIC}{number}"', item) for number, item in enumerate(texts)]
        function.attributes[SCHEDULED_FROM] = ir.StringAttr.get("\n".join([text, *renamed]))
        seal(function)


def arguments(schedule: Schedule) -> list[Tensor]:
    """The parameters of a schedule: inputs, in the order of first use, then outputs."""
    inputs = [stage.tensors[0] for stage in schedule.stages if stage.is_placeholder]
    return [*inputs, *(tensor for op in schedule.outputs for tensor in op.outputs)]


def _writer(
    schedule: Schedule, args: Sequence[Tensor], name: str, integers: Sequence[str] | None = None
) -> tuple[ScheduledWriter, str]:
    expect("lower: 'args'", args, list | tuple, "a list of tensors")
    for tensor in args:
        expect("lower: an entry of 'args'", tensor, Tensor, "a te.Tensor")
    inputs = [t for t in args if isinstance(t.op, PlaceholderOp)]
    outputs = [t for t in args if not isinstance(t.op, PlaceholderOp)]
    if list(args) != [*inputs, *outputs]:
        raise ArgumentError("lower: 'args' lists the placeholders first, then the computed tensors")
    check_parameters("lower", inputs, outputs, name)
    for tensor in outputs:
        if not schedule[tensor].is_output:
            raise ArgumentError(
                f"lower: {tensor.name} is not an output of the schedule: list its op in create_schedule, too"
            )
    for op in schedule.outputs:
        for tensor in op.outputs:
            if not any(tensor is given for given in outputs):
                raise ArgumentError(f"lower: the output {tensor.name} of the schedule is not among 'args'")
    operations = operations_of(outputs)
    own = integers_of(args, operations)
    plan = Plan.of(schedule)
    writer = ScheduledWriter(
        name, args, own if integers is None else tuple(integers), blocks=False, plan=plan
    )
    writer.taken |= set(symbols_of(args, operations))
    return writer, writer.write([stage.op for stage in plan.stages])
