"""Tensors that are computed step by step along their first dimension, each step from earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import (
    ArgumentError,
    ShapeError,
    UnsupportedError,
    expect_all,
)
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import DATA_PARALLEL, IterVar, Load, Range, loads_of, to_dim
from relax_mlir.te.tensors import ComputeOp, Operation, PlaceholderOp, Tensor, operations_of, with_scope


class ScanOp(Operation):
    """A recurrence: the outputs start with `init` and continue with `update`, which reads them as `state_placeholder`.

    `scan_axis` is the step; `steps` are the computations of every step, including `update`.
    """

    def __init__(
        self,
        init: Sequence[Tensor],
        update: Sequence[Tensor],
        state_placeholder: Sequence[Tensor],
        inputs: Sequence[Tensor],
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
    ) -> None:
        super().__init__(name, tag, attrs)
        for what, tensors in (("init", init), ("update", update), ("state_placeholder", state_placeholder)):
            expect_all(f"ScanOp: '{what}'", tensors, Tensor, "tensors")
            if not tensors:
                raise ArgumentError(f"ScanOp: '{what}' is empty, expected a tensor for each state")
        expect_all("ScanOp: 'inputs'", inputs, Tensor, "tensors")
        self.init, self.update, self.state_placeholder = tuple(init), tuple(update), tuple(state_placeholder)
        self.inputs = tuple(inputs)
        begin, end = init[0].shape[0], state_placeholder[0].shape[0]
        self.scan_axis = IterVar(f"{name}_step", Range(begin, end - begin), DATA_PARALLEL)
        self.steps = _steps(f"scan '{name}'", self)
        names = [name] if len(init) == 1 else [f"{name}_{number}" for number in range(len(init))]
        self.outputs += [
            Tensor(state.shape, state.dtype, own, self, number)
            for number, (own, state) in enumerate(zip(names, state_placeholder, strict=True))
        ]

    @property
    def parts(self) -> Sequence[Operation]:
        return self.steps

    @property
    def input_tensors(self) -> list[Tensor]:
        inside = {id(tensor) for op in self.steps for tensor in op.outputs} | set(map(id, self.state_placeholder))
        read = [tensor for op in self.steps for tensor in op.input_tensors if id(tensor) not in inside]
        return list(dict.fromkeys([*self.init, *read]))


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - a tensor, or a list of tensors
    """The tensor that starts with `init` along its first dimension and continues with `update`.

    Args:
        init: the first elements, a computed tensor.
        update: a computed tensor of the whole shape: its elements at step ``t``, from the state of earlier steps.
        state_placeholder: a placeholder of the whole shape, by which `update` reads the result.
        inputs: other tensors that `update` reads; accepted for TVM compatibility, not needed.
        name, tag, attrs: as for `compute`.

    Lists of tensors define several results together. `update` may depend on other computes. Those that read the state
    have the steps as first dimension, and are read at the current step.

    Raises:
        ArgumentError: tensors of the wrong kind or number; a state that is read at the current step, or a later one.
        ShapeError: shapes that differ.
    """
    what = f"scan '{name}'"
    several = isinstance(state_placeholder, list | tuple)
    inits, updates, states, given = (_list(what, item) for item in (init, update, state_placeholder, inputs))
    if not len(inits) == len(updates) == len(states) or not states:
        raise ArgumentError(
            f"{what}: {len(inits)} of 'init', {len(updates)} of 'update', {len(states)} of 'state_placeholder': "
            "give as many of each, one at least"
        )
    for first, later, state in zip(inits, updates, states, strict=True):
        _check(what, first, later, state, states[0].shape, inits[0].shape)
    op = ScanOp(inits, updates, states, given, name, with_scope(what, tag), attrs)
    return list(op.outputs) if several else op.outputs[0]


def _list(what: str, given: object) -> list[Tensor]:
    found: list[Tensor] = []
    for item in [] if given is None else given if isinstance(given, list | tuple) else [given]:
        if not isinstance(item, Tensor):
            raise ArgumentError(f"{what}: an argument is {item!r}, expected a te.Tensor, or a list of them")
        found.append(item)
    return found


def _check(what: str, first: Tensor, later: Tensor, state: Tensor, whole: Sequence[Dim], begun: Sequence[Dim]) -> None:
    if not isinstance(state.op, PlaceholderOp):
        raise ArgumentError(f"{what}: the state {state} is computed, expected a placeholder")
    if not isinstance(later.op, ComputeOp) or isinstance(first.op, PlaceholderOp):
        raise ArgumentError(f"{what}: 'init' and 'update' are computed tensors, made by te.compute")
    if state.ndim == 0 or first.shape[1:] != state.shape[1:] or later.shape != state.shape:
        raise ShapeError(
            f"{what}: the shapes of init {first}, update {later} and state {state} do not fit: they are equal but "
            "for the first dimension of init"
        )
    if state.shape[0] != whole[0] or first.shape[0] != begun[0]:
        raise ShapeError(f"{what}: the states have different numbers of steps")
    if not first.dtype == later.dtype == state.dtype:
        raise ArgumentError(
            f"{what}: init is {first.dtype}, update {later.dtype} and state {state.dtype}; expected one"
        )


def _steps(what: str, scanned: ScanOp) -> tuple[ComputeOp, ...]:
    """The computations that read the state, in order, after checks."""
    states = set(map(id, scanned.state_placeholder))
    depends: set[int] = set(states)
    own = {id(tensor.op) for tensor in scanned.update}
    found: list[ComputeOp] = []
    for op in operations_of(scanned.update):
        if id(op) not in own and not any(id(tensor) in depends for tensor in op.input_tensors):
            continue
        if not isinstance(op, ComputeOp):
            raise UnsupportedError(f"{what}: the operation '{op.name}' reads the state, but is no te.compute")
        if not op.axis or op.axis[0].dom.extent != scanned.state_placeholder[0].shape[0]:
            raise ShapeError(
                f"{what}: '{op.name}' reads the state, so that its first dimension is the step, of "
                f"{scanned.state_placeholder[0].shape[0]}"
            )
        depends |= set(map(id, op.outputs))
        for load in loads_of(*op.body):
            if id(load.tensor) in depends:
                _check_load(what, op, load, id(load.tensor) in states)
        found.append(op)
    return tuple(found)


def _check_load(what: str, op: ComputeOp, load: Load, is_state: bool) -> None:
    """Check that a step reads the state of earlier steps, and other values at the current step."""
    step = symbolic.symbol("step_of_scan")
    known: dict[IterVar, Dim] = {axis: symbolic.symbol(f"axis_of_scan_{n}") for n, axis in enumerate(op.axis)}
    known[op.axis[0]] = step
    place = to_dim(load.children[0], known)
    if is_state:
        if place is None or not symbolic.prove_less_equal(place + 1, step):
            raise ArgumentError(
                f"{what}: '{op.name}' reads the state at {load!r}, which is not known to be a step before "
                f"{op.axis[0].name}"
            )
    elif place is None or place != step:
        raise ArgumentError(
            f"{what}: '{op.name}' reads {load!r}: what a step computes is read at the step itself, {op.axis[0].name}"
        )
