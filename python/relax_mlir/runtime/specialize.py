"""Specialise an op for the run-time ranks and dtypes of its operands.

Operand sizes stay symbolic if the op's shape rule gives the same result for symbols as for the actual sizes. Three
variants are tried, the most general first: a separate symbol for every dimension; one symbol per distinct size, with 1
constant; constant sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.base import OpArgs, RelaxOp, as_sequence, op_classes
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.select import bound_attr
from relax_mlir.dialects.structure import make_tuple
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value, Var, create
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ir
from relax_mlir.runtime.build import build
from relax_mlir.runtime.executable import CompiledFunction
from relax_mlir.script.printer import python_value
from relax_mlir.symbolic import Dim
from relax_mlir.transform import PassContext

Renaming = Callable[[int], Dim]


@dataclass(frozen=True)
class OpRequest:
    """An op on operands of known sizes; `infos` are the struct infos of the operands, with tuples flattened.

    `grouping` has one entry per operand of the op: the number of fields of a tuple, or None. `symbols` are those of the
    attributes, with their values.
    """

    name: str
    attributes: str
    grouping: tuple[int | None, ...]
    infos: tuple[Tensor | Shape, ...]
    symbols: tuple[tuple[str, int], ...]

    def specialized(self, context: ir.Context) -> OpRequest:
        """Return the op on operands with symbolic sizes. Raises the shape rule's errors for the actual sizes."""
        with context, ir.Location.unknown():
            expected = _evaluated(_infer(self), dict(self.symbols))
            for rename in self._renamings():
                candidate, values = self._renamed(rename)
                try:
                    found = _evaluated(_infer(candidate), values)
                except ShapeError:
                    continue  # the rule needs more constant sizes
                if found == expected:
                    return candidate
        return self

    def _renamings(self) -> Iterator[Renaming]:
        taken = {name for name, _ in self.symbols}
        names = (name for i in itertools.count() if (name := f"d{i}") not in taken)
        yield lambda size: symbolic.symbol(next(names))
        shared: dict[int, Dim] = {1: 1}

        def share(size: int) -> Dim:
            if size not in shared:
                shared[size] = symbolic.symbol(next(names))
            return shared[size]

        yield share

    def _renamed(self, rename: Renaming) -> tuple[OpRequest, Mapping[str, int]]:
        values = dict(self.symbols)

        def renamed(dims: Sequence[Dim | None] | None) -> list[Dim]:
            found = []
            for size in dims or ():
                assert isinstance(size, int)
                dim = rename(size)
                values.update(dict.fromkeys(symbolic.symbols(dim), size))
                found.append(dim)
            return found

        infos = tuple(
            Tensor(renamed(info.shape), info.dtype)
            if isinstance(info, Tensor)
            else Shape(renamed(info.values))
            for info in self.infos
        )
        nameless = tuple((name, 0) for name, _ in self.symbols)
        return OpRequest(self.name, self.attributes, self.grouping, infos, nameless), values

    def grouped(self, items: Sequence[StructInfo]) -> list[StructInfo]:
        """Return one struct info per operand of the op."""
        rest = iter(items)
        return [
            next(rest) if count is None else Tuple(list(itertools.islice(rest, count)))
            for count in self.grouping
        ]

    def op_class(self) -> type[RelaxOp]:
        """The class of the op."""
        return op_classes()[self.name]

    def parsed_attributes(self) -> dict[str, ir.Attribute]:
        """Return the op's attributes for operands of these dtypes; needs a current context."""
        attributes = ir.DictAttr(ir.Attribute.parse(self.attributes))
        found = {attributes[i].name: attributes[i].attr for i in range(len(attributes))}
        if self.name == "relax.clip":
            data = self.infos[0]
            assert isinstance(data, Tensor)
            return {name: bound_attr(data.dtype, name, python_value(attr)) for name, attr in found.items()}
        return found


def _infer(request: OpRequest) -> Sequence[StructInfo]:
    cls = request.op_class()
    args = OpArgs(
        request.name.removeprefix("relax."),
        cls.operand_names(),
        request.grouped(request.infos),
        request.parsed_attributes(),
    )
    return as_sequence(cls.infer(args))


def _evaluated(infos: Sequence[StructInfo], values: Mapping[str, int]) -> list[StructInfo]:
    """Return `infos` with symbols replaced by their values."""

    def evaluated(info: StructInfo) -> StructInfo:
        if isinstance(info, Tuple):
            return Tuple([evaluated(item) for item in info.fields])
        if not isinstance(info, Tensor) or info.shape is None:
            return info
        return Tensor([None if d is None else symbolic.evaluate(d, values) for d in info.shape], info.dtype)

    return [evaluated(info) for info in infos]


def compile_op(request: OpRequest) -> CompiledFunction:
    """Compile an op on operands of known ranks and dtypes, which become separate parameters."""
    builder = BlockBuilder()
    params = [Var(f"x{i}", info) for i, info in enumerate(request.infos)]
    if request.symbols:
        params.append(Var("symbols", Shape([name for name, _ in request.symbols])))
    name = request.name.removeprefix("relax.")
    with located_at(name, 0, 0), PassContext():
        with builder.function(name, params):
            rest: Iterator[Value] = iter(params)
            operands = [
                next(rest) if count is None else make_tuple(*itertools.islice(rest, count))
                for count in request.grouping
            ]
            results = create(request.op_class(), operands, request.parsed_attributes())
            builder.emit_func_output(results[0])
        return build(builder.get())[name]
