"""Splitting modules into compilation units: definitions, declarations, copies, and units that modules share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.dialects.attributes import (
    AS_GENERATED,
    JOB,
    KERNEL,
    PRIM_FUNC,
    SIGNATURE,
    SUPPORT,
)
from relax_mlir.error import CompileError
from relax_mlir.lowering.base.module_parts import (
    Part,
    attribute_name,
    split_module,
)
from relax_mlir.lowering.pipeline import phases
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import functions
from relax_mlir.target import Target

TEXT = """
llvm.mlir.global internal constant @text("abc\\00")
llvm.mlir.global external @state(1 : i64) : i64
llvm.mlir.global internal @pointer() : !llvm.ptr {
  %0 = llvm.mlir.addressof @callee : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.func @outside(!llvm.ptr)
llvm.func @main(%a: i64) -> i64 {
  %t = llvm.mlir.addressof @text : !llvm.ptr
  llvm.call @outside(%t) : (!llvm.ptr) -> ()
  %r = llvm.call @callee(%a) : (i64) -> i64
  llvm.return %r : i64
}
llvm.func internal @unrelated() attributes {sym_visibility = "private"} {
  %t = llvm.mlir.addressof @text : !llvm.ptr
  %p = llvm.mlir.addressof @pointer : !llvm.ptr
  llvm.return
}
llvm.func internal @callee(%a: i64) -> i64 attributes {passthrough = ["noinline"], sym_visibility = "private"} {
  %s = llvm.mlir.addressof @state : !llvm.ptr
  %b = llvm.load %s : !llvm.ptr -> i64
  %c = llvm.add %a, %b : i64
  llvm.return %c : i64
}
llvm.func @other() {
  llvm.call @unrelated() : () -> ()
  llvm.return
}
"""


@pytest.fixture
def context() -> Iterator[ir.Context]:
    with ir.Context() as context, ir.Location.unknown():
        yield context


def parsed(parts: list[Part]) -> list[ir.Module]:
    return [ir.Module.parse(part.source, ir.Context()) for part in parts]


def symbols(module: ir.Module) -> dict[str, tuple[bool, str]]:
    """For each symbol: true if the module defines it, and its linkage."""
    found = {}
    for op in module.body.operations:
        defines = any(region.blocks for region in op.operation.regions)
        defines |= "value" in op.attributes or "initial_value" in op.attributes
        key = attribute_name(op, "linkage")
        linkage = str(op.attributes[key])[len("#llvm.linkage<") : -1] if key in op.attributes else "external"
        found[ir.StringAttr(op.attributes["sym_name"]).value] = (defines, linkage)
    return found


def test_one_part_is_the_module(context: ir.Context) -> None:
    module = ir.Module.parse(TEXT)
    (part,) = split_module(module)
    assert symbols(*parsed([part])) == symbols(module)
    assert part.external == ()
    assert not part.is_shared


def test_who_defines_and_who_declares(context: ir.Context) -> None:
    module = ir.Module.parse(TEXT)
    before = str(module)
    parts = split_module(module, part_ops=1)
    assert str(module) == before
    # main, then its callees, then the rest; @unrelated cannot come after its first caller: it comes first.
    assert [part.exported for part in parts] == [("main",), ("callee",), ("unrelated",), ("other",)]
    main, callee, unrelated, other = map(symbols, parsed(parts))
    assert main == {
        "text": (True, "internal"),
        "state": (True, "external"),
        "pointer": (True, "external"),
        "outside": (False, "external"),
        "main": (True, "external"),
        "callee": (False, "external"),
    }
    assert callee == {"state": (False, "external"), "callee": (True, "external")}
    assert unrelated == {
        "text": (True, "internal"),
        "pointer": (False, "external"),
        "unrelated": (True, "external"),
    }
    assert other == {"unrelated": (False, "external"), "other": (True, "external")}
    # Symbols that no unit defines are left to the linker.
    assert [part.external for part in parts] == [("callee",), ("state",), ("pointer",), ("unrelated",)]


@pytest.mark.parametrize("part_ops", [1, 1000])
def test_what_nobody_can_call_is_in_no_part(part_ops: int, context: ir.Context) -> None:
    dead = """
llvm.func internal @callee_of_it() { llvm.return }
llvm.func internal @alone() {
  llvm.call @callee_of_it() : () -> ()
  llvm.return
}
"""
    parts = split_module(ir.Module.parse(TEXT + dead), part_ops)
    assert [part.source for part in parts] == [part.source for part in split_module(ir.Module.parse(TEXT), part_ops)]


FLAT = """
memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
func.func private @leaf(%a: memref<2xf32>) attributes {llvm.linkage = #llvm.linkage<internal>} {
  %t = memref.get_global @table : memref<2xf32>
  memref.copy %t, %a : memref<2xf32> to memref<2xf32>
  return
}
func.func private @job() attributes {llvm.linkage = #llvm.linkage<internal>} { return }
func.func private @unused() attributes {llvm.linkage = #llvm.linkage<internal>} { return }
func.func @main(%a: memref<2xf32>) {
  %t = memref.get_global @table : memref<2xf32>
  %f = func.constant @job : () -> ()
  func.call @leaf(%a) : (memref<2xf32>) -> ()
  func.call @outside() : () -> ()
  return
}
func.func private @outside()
"""


def test_what_runs_once_per_call_is_left_plain(context: ir.Context) -> None:
    """Only kernels, epilogues and loops are optimised, and functions so few that they share a unit with loops."""
    names = ("kernel", "straight", "choice", "relax.gemm.f32.epilogue_0", "loops")
    calls = "\n".join(f"  func.call @{name}(%a) : (index) -> ()" for name in names)
    work = "\n".join(f"  %{number} = arith.addi %a, %a : index" for number in range(200))
    text = f"""
func.func @main(%a: index) attributes {{llvm.passthrough = ["nounwind"]}} {{
{work}
{calls}
  return
}}
func.func private @kernel(%a: index) attributes {{{KERNEL} = "attention"}} {{ return }}
func.func private @straight(%a: index) attributes {{{PRIM_FUNC}}} {{ return }}
func.func private @choice(%a: index) attributes {{{PRIM_FUNC}}} {{
  %c = arith.cmpi eq, %a, %a : index
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  func.call @kernel(%a) : (index) -> ()
  return
^bb2:
  return
}}
func.func private @relax.gemm.f32.epilogue_0(%a: index) attributes {{{AS_GENERATED}}} {{ return }}
func.func private @loops(%a: index) attributes {{{PRIM_FUNC}}} {{
  cf.br ^bb1(%a : index)
^bb1(%i: index):
  %c = arith.cmpi eq, %i, %a : index
  %next = arith.addi %i, %a : index
  cf.cond_br %c, ^bb2, ^bb1(%next : index)
^bb2:
  return
}}
"""
    for source, is_plain in ((text, True), (text.replace(work, ""), False)):
        parts = split_module(ir.Module.parse(source))
        found, optimised = {}, set()
        for part, module in zip(parts, parsed(parts), strict=True):
            defined = [op for op in module.body.operations if op.regions[0].blocks]
            found |= {op.name.value: str(op.attributes.get("llvm.passthrough")) for op in defined}
            optimised |= {op.name.value for op in defined if part.optimised}
        plain = {
            "main": '["nounwind", "optnone", "noinline"]',
            "straight": '["optnone", "noinline"]',
            "choice": '["optnone", "noinline"]',
        }
        assert found == dict.fromkeys(names, "None") | (plain if is_plain else {"main": '["nounwind"]'})
        assert optimised == ({"loops"} if is_plain else {"main", *names})


def test_functions_and_tables_of_level_f(context: ir.Context) -> None:
    parts = split_module(ir.Module.parse(FLAT), part_ops=1)
    leaf, job, main = map(symbols, parsed(parts))
    assert main == {
        "table": (True, "external"),
        "main": (True, "external"),
        "leaf": (False, "external"),
        "job": (False, "external"),
        "outside": (False, "external"),
    }
    assert leaf == {"table": (True, "external"), "leaf": (True, "external")}
    assert job == {"job": (True, "external")}
    assert [part.external for part in parts] == [(), (), ("leaf", "job")]
    (whole,) = parsed(split_module(ir.Module.parse(FLAT)))
    assert symbols(whole)["leaf"] == (True, "internal")
    assert "unused" not in symbols(whole)


def test_parts_say_what_their_ops_need(context: ir.Context) -> None:
    parts = split_module(
        ir.Module.parse("""
func.func @plain(%x: f32) -> f32 { return %x : f32 }
func.func @sine(%x: f32) -> f32 {
  %y = math.sin %x : f32
  return %y : f32
}
func.func @turned(%x: vector<2x4xf32>) -> vector<4x2xf32> {
  %y = vector.transpose %x, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
  return %y : vector<4x2xf32>
}"""),
        part_ops=1,
    )
    said = {part.exported[0]: (part.has_math, part.all_vectors) for part in parts}
    assert said == {"plain": (False, False), "sine": (True, False), "turned": (False, True)}


def test_locations_and_names_of_the_module_do_not_count(context: ir.Context) -> None:
    first = ir.Module.parse(TEXT)
    second = ir.Module.parse("\n\n" + TEXT.replace("%r", "%result"))
    assert [part.source for part in split_module(first, 1)] == [part.source for part in split_module(second, 1)]


def test_other_ops_are_refused(context: ir.Context) -> None:
    module = ir.Module.parse("llvm.func @f() { llvm.return }\nmemref.global @state : memref<2xf32> = uninitialized")
    with pytest.raises(CompileError, match=r":2:\d+: no part of a module can hold the op memref\.global"):
        split_module(module)


def test_ops_of_other_levels_are_refused(context: ir.Context) -> None:
    """Their dialects would be loaded while other threads compile."""
    module = ir.Module.parse("func.func @f() {\n  %t = tensor.empty() : tensor<2xf32>\n  return\n}")
    with pytest.raises(CompileError, match=r":2:\d+: no part of a module can hold the op tensor\.empty"):
        split_module(module)


def lowered(mod: rx.IRModule, target: Target) -> ir.Module:
    work = mod.clone()
    for phase in phases(str(target))[:-1]:
        work.apply_(phase.as_pass())
    return work.mlir


def product(scale: float, shifted: bool) -> rx.IRModule:
    """A matmul; `shifted`: with another parameter, and so with more checks and messages."""
    builder = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "k"), "float32")), rx.Var("y", rx.Tensor(("k", "m"), "float32"))
    shift = rx.Var("shift", rx.Tensor(("m",), "float32"))
    with builder.function("main", [shift, x, y] if shifted else [x, y]):
        result = R.matmul(x, y) * builder.const(np.float32(scale))
        builder.emit_func_output(R.nn.relu(result + shift) if shifted else result)
    return builder.get()


@pytest.mark.parametrize("threads", sweep.quick([1, 2], 2))
def test_every_function_of_a_module_says_what_it_is(threads: int) -> None:
    """Code comes from the module's own functions, is an entry point, or has a mark."""
    marks = (PRIM_FUNC, SIGNATURE, SUPPORT, AS_GENERATED, JOB)
    named = ("relax.fn.", "__")
    for mod in (product(2.0, False), product(3.0, True)):
        module = lowered(mod, Target("cpu", num_threads=threads))
        defined = {name: op for name, op in functions(module).items() if not op.is_external}
        unmarked = {name for name in defined if not any(mark in defined[name].attributes for mark in marks)}
        assert unmarked <= {name for name in defined if name.startswith(named)}
        support = {name for name in defined if SUPPORT in defined[name].attributes}
        assert {name.split(".")[1] for name in support} == {"rt"}
        assert any(name.startswith("relax.gemm.f32.epilogue_") for name in defined)
