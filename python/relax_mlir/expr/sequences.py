"""`BindingBlock`, `DataflowBlock` and `SeqExpr`: blocks of bindings, and blocks followed by a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from relax_mlir.dialects.nodes import Node, Tuple
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, expect
from relax_mlir.expr.bindings import Binding, binding_of
from relax_mlir.expr.program import DATAFLOW, OUTPUT, DataflowVar, Program, is_hidden, outputs_of
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir

BlockT = TypeVar("BlockT", bound="BindingBlock")


class BindingBlock:
    """Bindings in order, possibly with effects and control flow: ``BindingBlock([binding, …])``."""

    def __init__(self, bindings: Sequence[Binding]) -> None:
        what = type(self).__name__
        expect(f"{what}: 'bindings'", bindings, list | tuple, "a list of bindings")
        for item in bindings:
            expect(f"{what}: a binding", item, Binding, "a VarBinding or a MatchCast")
        self._bindings: tuple[Binding, ...] | None = tuple(bindings)
        self._ops: Sequence[ir.Operation] = ()
        self._program: Program | None = None

    @classmethod
    def view(cls: type[BlockT], ops: Sequence[ir.Operation], program: Program) -> BlockT:
        """The block of the given ops."""
        block = cls.__new__(cls)
        block._bindings, block._ops, block._program = None, ops, program
        return block

    @property
    def is_view(self) -> bool:
        """True if the block is a view of ops, false if it is new."""
        return self._bindings is None

    @property
    def bindings(self) -> list[Binding]:
        """The bindings, in order."""
        if self._bindings is not None:
            return list(self._bindings)
        self._check()
        return [binding_of(op, self._program) for op in self.ops if not is_hidden(op)]

    @property
    def ops(self) -> list[ir.Operation]:
        """The ops of a view, including those nested in expressions."""
        self._check()
        return [op for op in self._ops if op.name != OUTPUT]

    def __repr__(self) -> str:
        if self._program is not None and not self._program.is_current():
            return f"<{type(self).__name__} of a program that has changed>"
        return f"<{type(self).__name__} of {len(self.bindings)} bindings>"

    def _check(self) -> None:
        if self._program is not None:
            self._program.check(self)


class DataflowBlock(BindingBlock):
    """Pure bindings without control flow; bound variables that are not `DataflowVar`s are the outputs of the block."""

    @property
    def outputs(self) -> list[Value]:
        """The outputs of the block, in order."""
        if self._program is not None:
            self._check()
            block = self._ops[-1].parent
            assert block is not None, "the block's own op"
            return list(map(self._program.expression, outputs_of(block.operation)))
        return [var for b in self.bindings for var in b.vars if not isinstance(var, DataflowVar)]


class SeqExpr(Node):
    """Blocks in order, followed by the result: ``SeqExpr([block, …], body)``."""

    def __init__(self, blocks: Sequence[BindingBlock], body: Value) -> None:
        super().__init__()
        expect("SeqExpr: 'blocks'", blocks, list | tuple, "a list of blocks")
        for item in blocks:
            expect("SeqExpr: a block", item, BindingBlock, "a BindingBlock or a DataflowBlock")
        expect("SeqExpr: 'body'", body, Value, "an expression")
        self._blocks, self._body = tuple(blocks), body
        self._block: ir.Block | None = None
        self._program: Program | None = None

    @classmethod
    def of(cls, block: ir.Block, program: Program) -> SeqExpr:
        """The sequence of an MLIR block; its terminator gives the result."""
        found = cls.__new__(cls)
        Node.__init__(found)
        found._block, found._program, found._resolver = block, program, program
        return found

    @property
    def is_view(self) -> bool:
        return self._block is not None

    @property
    def block(self) -> ir.Block | None:
        """The MLIR block of a view."""
        if self._program is not None:
            self._program.check(self)
        return self._block

    @property
    def blocks(self) -> list[BindingBlock]:
        """The blocks, in order: dataflow blocks, and the runs of bindings between them."""
        if self._block is None or self._program is None:
            return list(self._blocks)
        self._program.check(self)
        found: list[BindingBlock] = []
        stretch: list[ir.Operation] = []
        for view in list(self._block.operations)[:-1]:
            op = view.operation
            if op.name != DATAFLOW:
                stretch.append(op)
                continue
            found += _stretch(stretch, self._program)
            stretch = []
            inside = [inner.operation for inner in entry_block(op).operations]
            found.append(DataflowBlock.view(inside, self._program))
        return [*found, *_stretch(stretch, self._program)]

    @property
    def body(self) -> Value:
        """The result: an expression, or the tuple of several."""
        if self._block is None or self._program is None:
            return self._body
        self._program.check(self)
        values = list(map(self._program.expression, self._block.operations[-1].operation.operands))
        return values[0] if len(values) == 1 else Tuple(values)

    @property
    def struct_info(self) -> StructInfo:
        return self.body.struct_info

    def emit(self) -> Value:
        from relax_mlir.expr.emitter import Emitter

        if self.is_view:
            raise ArgumentError("a sequence that is part of a program is emitted by `Function` only")
        return Emitter().sequence(self)

    def described(self) -> str:
        return f"<SeqExpr of {len(self.blocks)} blocks>"


def _stretch(ops: list[ir.Operation], program: Program) -> list[BindingBlock]:
    """A list with the block of the ops; empty if none of them is a binding."""
    return [BindingBlock.view(ops, program)] if any(not is_hidden(op) for op in ops) else []
