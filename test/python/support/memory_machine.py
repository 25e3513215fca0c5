"""An interpreter of modules of level M that does not use liveness: it simulates reads and writes of addresses.

Calls `@step(inputs…, output)` write a new value to their output. Writing a range destroys every value that overlaps
it. A call spoils its output before it reads its inputs, except those of `@same…`, which are elementwise: their inputs
may be the output, but not overlap it otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.mlir import ir
from relax_mlir.transform import Sequential

MASK = 2**64 - 1


@dataclass
class Range:
    """A buffer: bytes [start, end) of a piece of memory."""

    memory: Any
    start: int
    end: int


@dataclass
class Machine:
    """Runs the entry block of `main`; `log` records the values that each call reads."""

    values: dict[ir.Value, Any] = field(default_factory=dict)
    memory: dict[Any, list[tuple[int, int, int]]] = field(default_factory=dict)
    log: list[list[object]] = field(default_factory=list)
    asked: int = 0
    stamps: int = 0
    blocks: int = 0
    in_place: int = 0

    def read(self, at: Range) -> object:
        """The content of a range: the stamp of the write that covers exactly it, or None if it was overwritten."""
        if at.start == at.end:
            return "nothing"
        for start, end, stamp in self.memory.get(at.memory, []):
            if (start, end) == (at.start, at.end):
                return stamp
        return None

    def spoil(self, at: Range) -> None:
        kept = [w for w in self.memory.get(at.memory, []) if w[1] <= at.start or at.end <= w[0]]
        self.memory[at.memory] = kept

    def write(self, at: Range) -> None:
        self.stamps += 1
        self.spoil(at)
        self.memory[at.memory].append((at.start, at.end, self.stamps))

    def fresh(self, size: int) -> Range:
        self.blocks += 1
        return Range(self.blocks, 0, size)

    def loop(self, op: ir.Operation, operands: list[Any]) -> list[Any]:
        lower, upper, step, *carried = operands
        body = op.regions[0].blocks[0]
        for i in range(lower, upper, step):
            self.values |= dict(zip(body.arguments, [i, *carried], strict=True))
            carried = self.run(body)
        return carried

    def run(self, block: ir.Block) -> list[Any]:
        for op in block.operations:
            operands = [self.values[v] for v in op.operands]
            if op.operation.name in ("func.return", "scf.yield"):
                return operands
            for result, value in zip(op.results, self.step(op.operation, operands), strict=True):
                self.values[result] = value
        return []

    def step(self, op: ir.Operation, operands: list[Any]) -> list[Any]:
        name = op.name
        if name == "arith.constant":
            return [ir.IntegerAttr(op.attributes["value"]).value]
        if name == "memref.dim":
            return [(operands[0].end - operands[0].start) // 4]
        if name == "memref.alloc":
            size = ir.MemRefType(op.results[0].type).get_dim_size(0) if not operands else operands[0]
            return [self.fresh(4 * size)]
        if name == "memref.alloca":
            return [self.fresh(4 * ir.MemRefType(op.results[0].type).get_dim_size(0))]
        if name.startswith("llvm."):
            return [None] * len(op.results)
        if name == "memref.view":
            base, offset, *sizes = operands
            size = sizes[0] if sizes else ir.MemRefType(op.results[0].type).get_dim_size(0)
            assert offset % 64 == 0
            assert base.start + offset + 4 * size <= base.end, "outside the workspace"
            return [Range(base.memory, base.start + offset, base.start + offset + 4 * size)]
        if name in ("memref.cast", "memref.subview"):
            return operands[:1]
        if name == "scf.if":
            region = op.regions[0 if operands[0] else 1]
            return self.run(region.blocks[0]) if len(region.blocks) else []
        if name == "scf.for":
            return self.loop(op, operands)
        if name == "func.call":
            return self.call(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, operands, op)
        return self.arithmetic(op, operands)

    def call(self, callee: str, operands: list[Any], op: ir.Operation) -> list[Any]:
        if callee == "relax.rt.workspace_take":
            self.asked = operands[0]
            return [Range("workspace", 0, operands[0])]
        if callee == "relax.rt.frame_buffer":
            return [self.fresh(operands[1])]
        if callee in ("relax.rt.workspace_give", "relax.rt.release"):
            return []
        count = 2 if callee.startswith("both") else 1
        inputs, outputs = operands[:-count], operands[-count:]
        if callee.startswith(("same", "both")):
            self.check_places(inputs, outputs)
            self.log.append([self.read(i) for i in inputs])
        else:
            assert callee.startswith(("step", "late")), callee
            first = [self.read(inputs[0])] if callee == "late2" else []
            # Values that are read later must not overlap the output.
            self.spoil(outputs[0])
            self.log.append([*first, *(self.read(i) for i in inputs[len(first) :])])
        for output in outputs:
            self.write(output)
        return []

    def check_places(self, inputs: list[Range], outputs: list[Range]) -> None:
        """Inputs of an elementwise call are equal to its outputs or disjoint from them; outputs are disjoint."""
        for given in (*inputs, *outputs):
            for output in outputs:
                if given is output or given.memory != output.memory or given.start == given.end:
                    continue
                whole = (given.start, given.end) == (output.start, output.end)
                assert given.end <= output.start or output.end <= given.start or (whole and given in inputs)
                self.in_place += whole

    def arithmetic(self, op: ir.Operation, operands: list[Any]) -> list[Any]:
        a, b = operands[0], operands[1]
        if op.name == "arith.mului_extended":
            return [(a * b) & MASK, (a * b) >> 64]
        if op.name == "arith.select":
            return [operands[1] if operands[0] else operands[2]]
        if op.name == "arith.cmpi":
            assert ir.IntegerAttr(op.attributes["predicate"]).value in (0, 1)
            return [(a == b) == (ir.IntegerAttr(op.attributes["predicate"]).value == 0)]
        functions = {
            "arith.addi": lambda: a + b,
            "arith.muli": lambda: a * b,
            "arith.minui": lambda: min(a & MASK, b & MASK),
            "arith.maxui": lambda: max(a & MASK, b & MASK),
            "arith.minsi": lambda: min(a, b),
            "arith.maxsi": lambda: max(a, b),
            "arith.andi": lambda: (a & MASK) & (b & MASK),
            "arith.floordivsi": lambda: a // b,
        }
        return [functions[op.name]()]


def main_block(module: ir.Module) -> ir.Block:
    """The body of `main`."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.name.value == "main":
            return op.regions[0].blocks[0]
    raise AssertionError("no main")


def run(module: ir.Module, n: int, m: int, flag: bool, rounds: int = 0) -> Machine:
    """Run `main` on buffers of `n` and `m` elements, then the numbers."""
    machine = Machine()
    block = main_block(module)
    given = [Range("a", 0, 4 * n), Range("b", 0, 4 * m), m, flag, rounds]
    machine.values = dict(zip(block.arguments, given, strict=False))
    machine.run(block)
    return machine


def plan(text: str) -> ir.Module:
    """A module with its memory planned."""
    module = ir.Module.parse(text)
    Sequential([PlanMemory()]).apply_(module)
    assert module.operation.verify()
    return module
