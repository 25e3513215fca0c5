"""The memory plan, proved on random programs by an interpreter that knows nothing of liveness.

A program is a module of level M whose calls `@step(inputs…, output)` write a new value to their output. It is
run twice: on buffers of their own, and on the addresses that the planned module computes, where writing a range
destroys every value that overlaps it. All inputs of all calls must be the same in both runs.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from relax_mlir.lowering.memory_plan import PlanMemory
from relax_mlir.lowering.memory_report import MEMORY_PLAN
from relax_mlir.mlir import ir
from relax_mlir.runtime.memory_plan import MemoryPlan
from relax_mlir.transform import Sequential

N = "memref<?xf32>"
MASK = 2**64 - 1


@dataclass
class Range:
    """A buffer: bytes [start, end) of a piece of memory."""

    memory: Any
    start: int
    end: int


@dataclass
class Machine:
    """Runs the entry block of `main`; `log` gets the values that each call reads."""

    values: dict[ir.Value, Any] = field(default_factory=dict)
    memory: dict[Any, list[tuple[int, int, int]]] = field(default_factory=dict)
    log: list[list[object]] = field(default_factory=list)
    asked: int = 0
    stamps: int = 0

    def read(self, at: Range) -> object:
        """What lies in a range: the stamp of the write that covers exactly it, or None if it was destroyed."""
        if at.start == at.end:
            return "nothing"
        for start, end, stamp in self.memory.get(at.memory, []):
            if (start, end) == (at.start, at.end):
                return stamp
        return None

    def write(self, at: Range) -> None:
        self.stamps += 1
        kept = [w for w in self.memory.get(at.memory, []) if w[1] <= at.start or at.end <= w[0]]
        self.memory[at.memory] = [*kept, (at.start, at.end, self.stamps)]

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
            return [Range(op, 0, 4 * size)]
        if name == "memref.alloca":
            return [Range(op, 0, 4 * ir.MemRefType(op.results[0].type).get_dim_size(0))]
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
        if name == "func.call":
            return self.call(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, operands, op)
        return self.arithmetic(op, operands)

    def call(self, callee: str, operands: list[Any], op: ir.Operation) -> list[Any]:
        if callee == "relax.rt.workspace_take":
            self.asked = operands[0]
            return [Range("workspace", 0, operands[0])]
        if callee == "relax.rt.workspace_give":
            return []
        assert callee.startswith("step"), callee
        *inputs, output = operands
        self.log.append([self.read(i) for i in inputs])
        self.write(output)
        return []

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
            "arith.minui": lambda: min(a, b),
            "arith.maxui": lambda: max(a, b),
            "arith.andi": lambda: (a & MASK) & (b & MASK),
            "arith.floordivsi": lambda: a // b,
        }
        return [functions[op.name]()]


class Program:
    """A random program: temporaries of several symbolic and static sizes, views of them, calls, branches."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0
        self.sizes = {"%n": "n", "%m": "m", "%nm": "n*m", "%n2": "2n", "%half": "n//2"}

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def alloc(self, live: list[str]) -> str:
        name = self.fresh()
        if self.random.random() < 0.3:
            size = self.random.choice([1, 16, 100, 1000, 1001])
            self.lines.append(f"{name}s = memref.alloc() : memref<{size}xf32>")
            self.lines.append(f"{name} = memref.cast {name}s : memref<{size}xf32> to {N}")
        else:
            self.lines.append(f"{name} = memref.alloc({self.random.choice(list(self.sizes))}) : {N}")
        return name

    def call(self, live: list[str]) -> None:
        count = self.random.randint(1, min(3, len(live)))
        inputs = self.random.sample(live, count)
        output = self.alloc(live) if self.random.random() < 0.7 else self.random.choice(live)
        self.lines.append(
            f"func.call @step{count}({', '.join([*inputs, output])}) : ({', '.join([N] * (count + 1))}) -> ()"
        )
        if output not in live:
            live.append(output)

    def branch(self, live: list[str], depth: int) -> None:
        result = self.fresh()
        self.lines.append(f"{result} = scf.if %flag -> ({N}) {{")
        for word in ("} else {", "}"):
            inner = list(live)
            for _ in range(self.random.randint(0, 4)):
                self.statement(inner, depth + 1)
            self.lines += [f"scf.yield {self.random.choice(inner)} : {N}", word]
        live.append(result)

    def statement(self, live: list[str], depth: int = 0) -> None:
        if depth < 2 and self.random.random() < 0.15:
            self.branch(live, depth)
        else:
            self.call(live)
        # Forgetting buffers makes them dead.
        while len(live) > 3 and self.random.random() < 0.5:
            live.pop(self.random.randrange(len(live)))

    def text(self) -> str:
        live = ["%a", "%b"]
        for _ in range(self.random.randint(3, 25)):
            self.statement(live)
        steps = "".join(f"func.func private @step{k}({', '.join([N] * (k + 1))})\n" for k in (1, 2, 3))
        body = "\n  ".join(self.lines)
        return f"""{steps}
func.func @main(%a: {N}, %b: {N}, %m: index, %flag: i1) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : {N}
  func.call @step1(%a, %a) : ({N}, {N}) -> ()
  func.call @step1(%b, %b) : ({N}, {N}) -> ()
  %nm = arith.muli %n, %m : index
  %n2 = arith.muli %n, %c2 : index
  %half = arith.floordivsi %n, %c2 : index
  {body}
  return
}}
"""


def main_block(module: ir.Module) -> ir.Block:
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.name.value == "main":
            return op.regions[0].blocks[0]
    raise AssertionError("no main")


def run(module: ir.Module, n: int, m: int, flag: bool) -> Machine:
    machine = Machine()
    block = main_block(module)
    given = [Range("a", 0, 4 * n), Range("b", 0, 4 * m), m, flag]
    machine.values = dict(zip(block.arguments, given, strict=True))
    machine.run(block)
    return machine


def plan(text: str) -> ir.Module:
    module = ir.Module.parse(text)
    Sequential([PlanMemory()])(module)
    assert module.operation.verify()
    return module


def check_formulas(module: ir.Module, machine: Machine, n: int, m: int) -> None:
    """The recorded plan tells the size that is asked for, and keeps buffers apart that are in use together."""
    (function,) = (op for op in module.body.operations if MEMORY_PLAN in op.attributes)
    plan = MemoryPlan.from_json(ir.StringAttr(function.attributes[MEMORY_PLAN]).value)
    values = {name: size for name, size in (("arg0_0", n), ("arg2", m)) if name in plan.symbols}
    assert plan.bytes(**values) == machine.asked
    for a, b in combinations(plan.place(**values), 2):
        together = a.buffer.first <= b.buffer.last and b.buffer.first <= a.buffer.last
        assert not (together and a.start < b.end and b.start < a.end)


@pytest.mark.parametrize("seed", range(60))
def test_no_value_is_destroyed_while_it_is_needed(seed: int) -> None:
    text = Program(seed).text()
    with ir.Context(), ir.Location.unknown():
        original, planned = ir.Module.parse(text), plan(text)
        assert not re.search(r"memref\.alloc\b", str(planned))
        for n, m in ((0, 0), (1, 1), (7, 3), (100, 1000), (33, 0)):
            for flag in (False, True):
                machine = run(planned, n, m, flag)
                assert machine.log == run(original, n, m, flag).log, text
                check_formulas(planned, machine, n, m)


def slots(body: str) -> list[int]:
    """Offsets of the buffers of a straight-line body, for n = 100."""
    text = f"""
func.func private @step1({N}, {N})
func.func @main(%a: {N}, %b: {N}, %m: index, %flag: i1) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : {N}
{body}
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        module = plan(text)
        machine = run(module, 100, 10, True)
        views = [op for op in main_block(module).operations if op.operation.name == "memref.view"]
        return [machine.values[op.results[0]].start for op in views]


def chain(count: int, size: str = "%n") -> str:
    lines, last = [], "%a"
    for i in range(count):
        lines += [
            f"%t{i} = memref.alloc({size}) : {N}",
            f"func.call @step1({last}, %t{i}) : ({N}, {N}) -> ()",
        ]
        last = f"%t{i}"
    return "\n".join(lines)


def test_a_chain_needs_two_slots() -> None:
    assert slots(chain(8)) == [0, 448] * 4


def test_allocations_made_early_share_as_if_made_late() -> None:
    lines = chain(6).splitlines()
    assert slots("\n".join([*lines[::2], *lines[1::2]])) == [0, 448] * 3


def test_equal_formulas_share_although_written_differently() -> None:
    body = f"""
  %x = arith.muli %n, %m : index
  %t0 = memref.alloc(%x) : {N}
  func.call @step1(%a, %t0) : ({N}, {N}) -> ()
  %t1 = memref.alloc(%n) : {N}
  func.call @step1(%t0, %t1) : ({N}, {N}) -> ()
  %y = arith.muli %m, %n : index
  %t2 = memref.alloc(%y) : {N}
  func.call @step1(%t1, %t2) : ({N}, {N}) -> ()"""
    assert slots(body) == [0, 4032, 0]


def test_sizes_that_are_not_known_at_entry_are_freed_at_the_end() -> None:
    text = f"""
func.func private @size() -> index
func.func private @step1({N}, {N})
func.func @main(%a: {N}) {{
  %n = func.call @size() : () -> index
  %t = memref.alloc(%n) : {N}
  func.call @step1(%a, %t) : ({N}, {N}) -> ()
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        planned = str(plan(text))
    assert "call @relax.rt.frame_buffer" in planned
    assert "workspace_take(" not in planned.split("@main")[1].split("return")[0]


def test_buffers_carried_by_a_loop_do_not_share_one_place() -> None:
    text = f"""
func.func private @step1({N}, {N})
func.func @main(%a: {N}, %k: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : {N}
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%last = %a) -> ({N}) {{
    %t = memref.alloc(%n) : {N}
    func.call @step1(%last, %t) : ({N}, {N}) -> ()
    scf.yield %t : {N}
  }}
  func.call @step1(%r, %a) : ({N}, {N}) -> ()
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        assert str(plan(text)).count("call @relax.rt.frame_buffer") == 1


def test_prim_funcs_are_left_alone() -> None:
    text = f"""
func.func private @step1({N}, {N})
func.func private @k(%a: {N}, %n: index) attributes {{relax.prim_func}} {{
  %t = memref.alloc(%n) : {N}
  func.call @step1(%a, %t) : ({N}, {N}) -> ()
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        before = str(module)
        Sequential([PlanMemory()])(module)
        assert str(module) == before
