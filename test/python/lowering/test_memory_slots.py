"""The offsets that the memory plan assigns to the buffers of small programs, and the buffers that it does not plan."""

from __future__ import annotations

from memory_machine import main_block, plan, run
from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.mlir import ir
from relax_mlir.transform import Sequential

N = "memref<?xf32>"


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
        Sequential([PlanMemory()]).apply_(module)
        assert str(module) == before
