"""The memory plan, proved on random programs by an interpreter that knows nothing of liveness.

A program is a module of level M, with branches and loops, whose calls `@step(inputs…, output)` write a new value to
their output. It is run twice: on buffers of their own, and on the addresses that the planned module computes, where
writing a range destroys every value that overlaps it. All inputs of all calls must be the same in both runs. A call
spoils its output before it reads its inputs, except those of `@same…`, which are elementwise: their inputs may be the
output, but not overlap it otherwise.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.lowering.memory.report import MEMORY_PLAN
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
    blocks: int = 0
    in_place: int = 0

    def read(self, at: Range) -> object:
        """What lies in a range: the stamp of the write that covers exactly it, or None if it was destroyed."""
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
            # What is read later must not be where the output is.
            self.spoil(outputs[0])
            self.log.append([*first, *(self.read(i) for i in inputs[len(first) :])])
        for output in outputs:
            self.write(output)
        return []

    def check_places(self, inputs: list[Range], outputs: list[Range]) -> None:
        """Inputs of an elementwise call are its outputs, or apart from them; outputs are apart."""
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


SAME = """
func.func private @same1(%a: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}
func.func private @same2(%a: memref<?xf32>, %b: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %o, %c0 : memref<?xf32>
  %t = memref.alloc() : memref<f32>
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%t : memref<f32>)
  linalg.generic {indexing_maps = [#line, #point], iterator_types = ["reduction"]}
      ins(%a : memref<?xf32>) outs(%t : memref<f32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#line, #line, #point, #line], iterator_types = ["parallel"]}
      ins(%a, %b, %t : memref<?xf32>, memref<?xf32>, memref<f32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32):
    %s = arith.addf %x, %y : f32
    %p = arith.mulf %s, %z : f32
    linalg.yield %p : f32
  }
  return
}
"""

LATE = """
func.func private @late1(%a: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%o : memref<?xf32>)
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @late2(%a: memref<?xf32>, %b: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%b : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @both1(%a: memref<?xf32>, %o: memref<?xf32>, %p: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#line, #line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o, %p : memref<?xf32>, memref<?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    linalg.yield %x, %x : f32, f32
  }
  return
}
"""

MAPS = "#line = affine_map<(d0) -> (d0)>\n#point = affine_map<(d0) -> ()>\n"


class Program:
    """A random program: temporaries of several symbolic and static sizes, views of them, calls, branches, loops."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0
        self.sizes = {"%n": "n", "%m": "m", "%nm": "n*m", "%n2": "2n", "%half": "n//2"}
        self.size_of: dict[str, str | int] = {"%a": "%n", "%b": "%m"}

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def alloc(self, size: str | int | None = None) -> str:
        name = self.fresh()
        if size is None:
            choices = [1, 16, 100, 1000, 1001] if self.random.random() < 0.3 else list(self.sizes)
            size = self.random.choice(choices)
        self.size_of[name] = size
        if isinstance(size, int):
            self.lines.append(f"{name}s = memref.alloc() : memref<{size}xf32>")
            self.lines.append(f"{name} = memref.cast {name}s : memref<{size}xf32> to {N}")
        else:
            self.lines.append(f"{name} = memref.alloc({size}) : {N}")
        return name

    def same(self, live: list[str]) -> None:
        """An elementwise call (or one that looks like it) of values of one size."""
        first = self.random.choice(live)
        if first not in self.size_of:
            return
        equal = [value for value in live if self.size_of.get(value) == self.size_of[first]]
        callee = self.random.choice(["same1", "same2", "late1", "late2", "both1"])
        inputs = [first, self.random.choice(equal)][: int(callee[-1])]
        outputs = [self.alloc(self.size_of[first]) for _ in range(1 + callee.startswith("both"))]
        self.emit_call(callee, [*inputs, *outputs])
        for value in inputs:
            if value in live and len(live) > 1 and self.random.random() < 0.7:
                live.remove(value)
        live.extend(outputs)

    def emit_call(self, callee: str, arguments: list[str]) -> None:
        types = ", ".join([N] * len(arguments))
        self.lines.append(f"func.call @{callee}({', '.join(arguments)}) : ({types}) -> ()")

    def call(self, live: list[str]) -> None:
        count = self.random.randint(1, min(3, len(live)))
        inputs = self.random.sample(live, count)
        output = self.alloc() if self.random.random() < 0.7 else self.random.choice(live)
        self.emit_call(f"step{count}", [*inputs, output])
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

    def loop(self, live: list[str], depth: int) -> None:
        result, last, index = self.fresh(), self.fresh(), self.fresh()
        start = self.random.choice(live)
        self.lines.append(
            f"{result} = scf.for {index} = %c0 to %rounds step %c1 iter_args({last} = {start}) -> ({N}) {{"
        )
        inner = [*live, last]
        for _ in range(self.random.randint(0, 4)):
            self.statement(inner, depth + 1)
        self.lines += [f"scf.yield {self.random.choice(inner)} : {N}", "}"]
        live.append(result)

    def statement(self, live: list[str], depth: int = 0) -> None:
        kind = self.random.random()
        if depth < 2 and kind < 0.12:
            self.branch(live, depth)
        elif depth < 2 and kind < 0.2:
            self.loop(live, depth)
        elif kind < 0.6:
            self.same(live)
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
        return f"""{MAPS}{SAME}{LATE}{steps}
func.func @main(%a: {N}, %b: {N}, %m: index, %flag: i1, %rounds: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
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


def run(module: ir.Module, n: int, m: int, flag: bool, rounds: int = 0) -> Machine:
    machine = Machine()
    block = main_block(module)
    given = [Range("a", 0, 4 * n), Range("b", 0, 4 * m), m, flag, rounds]
    machine.values = dict(zip(block.arguments, given, strict=False))
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
        assert not (a.buffer.meets(b.buffer) and a.start < b.end and b.start < a.end)


@pytest.mark.parametrize("seed", range(80))
def test_no_value_is_destroyed_while_it_is_needed(seed: int) -> None:
    text = Program(seed).text()
    with ir.Context(), ir.Location.unknown():
        original, planned = ir.Module.parse(text), plan(text)
        assert not re.search(r"memref\.alloc\b", str(main_block(planned).owner))
        for n, m in ((0, 0), (1, 1), (7, 3), (100, 1000), (33, 0)):
            for flag, rounds in ((False, 0), (True, 1), (False, 3)):
                machine = run(planned, n, m, flag, rounds)
                assert machine.log == run(original, n, m, flag, rounds).log, text
                check_formulas(planned, machine, n, m)


def test_random_programs_have_work_in_place() -> None:
    with ir.Context(), ir.Location.unknown():
        counts = [run(plan(Program(seed).text()), 7, 3, True, 2).in_place for seed in range(20)]
    assert sum(count > 0 for count in counts) > 10


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


def test_large_buffers_share_before_small_ones_are_in_their_way() -> None:
    lines = []
    for i, size in enumerate([200, 100, 100, 200]):
        lines += [
            f"%s{i} = memref.alloc() : memref<{size}xf32>",
            f"%t{i} = memref.cast %s{i} : memref<{size}xf32> to {N}",
            f"func.call @step1({f'%t{i - 1}' if i else '%a'}, %t{i}) : ({N}, {N}) -> ()",
        ]
    lines += [f"func.call @step1(%t{i}, %a) : ({N}, {N}) -> ()" for i in (1, 2, 3)]
    assert slots("\n".join(lines)) == [0, 832, 1280, 0]


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
