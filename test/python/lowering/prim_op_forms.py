"""Every op that prim funcs may hold, on every type that it takes: found by asking MLIR, from the tables of legality."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import relax_mlir as rx
from relax_mlir.lowering.legality import NOT_ON, PRIM_ARITH, PRIM_MATH, PRIM_TYPES
from relax_mlir.mlir import ir

SCALARS = sorted((PRIM_ARITH | PRIM_MATH) - {"arith.constant"})
FLOATS, INTEGERS = ("f16", "bf16", "f32", "f64"), ("i8", "i16", "i32", "i64")
ATTRIBUTES = {
    "arith.cmpi": [f"{{predicate = {number} : i64}}" for number in range(10)],
    "arith.cmpf": [f"{{predicate = {number} : i64}}" for number in range(16)],
    "math.ctlz": ["{is_zero_poison = false}"],
}


@dataclass(frozen=True)
class Form:
    """An op on operands of some types."""

    op: str
    operands: tuple[str, ...]
    result: str
    attributes: str = ""

    @property
    def text(self) -> str:
        names = ", ".join(f"%x{number}" for number in range(len(self.operands)))
        types = f"({', '.join(self.operands)}) -> {self.result}"
        return f'"{self.op}"({names}) {self.attributes} : {types}'

    def __str__(self) -> str:
        return f"{self.op}{self.attributes} ({', '.join(self.operands)}) -> {self.result}"


def _candidates(op: str) -> Iterator[Form]:
    for attributes in ATTRIBUTES.get(op, [""]):
        for t in PRIM_TYPES:
            for count in (1, 2, 3):
                yield Form(op, (t,) * count, t, attributes)
                yield Form(op, (t,) * count, "i1", attributes)
            yield Form(op, ("i1", t, t), t, attributes)
        for s, t in itertools.product(PRIM_TYPES, PRIM_TYPES):
            if s != t:
                yield Form(op, (s,), t, attributes)
                yield Form(op, (s, t), s, attributes)


def forms() -> list[Form]:
    """All forms of all scalar ops, in the order of the table."""
    found: list[Form] = []
    with rx.IRModule.parse("").context as context:
        for op in SCALARS:
            excluded = NOT_ON.get(op, {})
            found += dict.fromkeys(
                form for form in _candidates(op) if form.result not in excluded and is_valid(context, form)
            )
    return found


def is_valid(context: ir.Context, form: Form) -> bool:
    """True if MLIR accepts the op on these types."""
    arguments = ", ".join(f"%x{number}: {type_}" for number, type_ in enumerate(form.operands))
    try:
        ir.Module.parse(f"func.func private @f({arguments}) {{ %r = {form.text} return }}", context)
    except ir.MLIRError:
        return False
    return True


def stored(type_: str) -> str:
    """The type of elements that hold a number: those of ``index`` are i64."""
    return "i64" if type_ == "index" else type_


def prim_func(name: str, form: Form) -> str:
    """A prim func that applies the op to the elements of tensors."""
    operands, result = [stored(t) for t in form.operands], stored(form.result)
    inputs = ", ".join(f"%a{number}: tensor<?x{t}>" for number, t in enumerate(operands))
    ins = ", ".join(f"%a{number}" for number in range(len(operands)))
    types = ", ".join(f"tensor<?x{t}>" for t in operands)
    heads, casts = [], []
    for number, (type_, held) in enumerate(zip(form.operands, operands, strict=True)):
        plain = type_ == held
        heads.append(f"%{'x' if plain else 'y'}{number}: {held}")
        if not plain:
            casts.append(f"%x{number} = arith.index_cast %y{number} : {held} to index")
    back = "" if form.result == result else f"%z = arith.index_cast %r : index to {result}\n"
    maps = ", ".join(["affine_map<(i) -> (i)>"] * (len(operands) + 1))
    body = "\n".join([*casts, f"%r = {form.text}"])
    return f"""
func.func private @{name}({inputs}, %out: tensor<?x{result}>) -> tensor<?x{result}> attributes {{relax.prim_func}} {{
  %0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
    ins({ins} : {types}) outs(%out : tensor<?x{result}>) {{
  ^bb0({", ".join(heads)}, %o: {result}):
    {body}
    {back}linalg.yield {"%z" if back else "%r"} : {result}
  }} -> tensor<?x{result}>
  return %0 : tensor<?x{result}>
}}
"""


def prim_loop(name: str, form: Form) -> str:
    """A prim func that applies the op to the elements of buffers, in a vectorised loop."""
    operands, result = [stored(t) for t in form.operands], stored(form.result)
    inputs = ", ".join(f"%a{number}: memref<?x{t}>" for number, t in enumerate(operands))
    lines = []
    for number, (type_, held) in enumerate(zip(form.operands, operands, strict=True)):
        loaded = f"%{'x' if type_ == held else 'y'}{number}"
        lines.append(f"{loaded} = memref.load %a{number}[%i] : memref<?x{held}>")
        if type_ != held:
            lines.append(f"%x{number} = arith.index_cast %y{number} : {held} to index")
    lines.append(f"%r = {form.text}")
    if form.result != result:
        lines.append(f"%z = arith.index_cast %r : index to {result}")
    lines.append(f"memref.store {'%r' if form.result == result else '%z'}, %out[%i] : memref<?x{result}>")
    body = "\n    ".join(lines)
    return f"""
func.func private @{name}({inputs}, %out: memref<?x{result}>) attributes {{relax.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %out, %c0 : memref<?x{result}>
  scf.for %i = %c0 to %n step %c1 {{
    {body}
  }} {{relax.loop = "vectorized"}}
  return
}}
"""


def module_text(chosen: Sequence[Form], prim: Callable[[str, Form], str] = prim_func) -> str:
    """A module whose `main` takes two arrays per type, and returns the results of all forms, which are `prim`s."""
    held = [t for t in PRIM_TYPES if t != "index"]
    relax = {t: f'tensor<?x{t}, #relax.shape<["n"]>>' for t in held}
    params = ", ".join(f"%{t}_{side}: {relax[t]}" for t in held for side in "abc")
    lines, results = [], []
    for number, form in enumerate(chosen):
        names = ", ".join(f"%{stored(t)}_{side}" for t, side in zip(form.operands, "abc", strict=False))
        types = ", ".join(relax[stored(t)] for t in form.operands)
        result = relax[stored(form.result)]
        lines.append(f"%t{number} = builtin.unrealized_conversion_cast {names} : {types} to tuple<{types}>")
        call = f'"relax.call_tir"(%t{number}) {{callee = @k{number}, tir_vars = []}} : (tuple<{types}>) -> {result}'
        lines.append(f"%r{number} = {call}")
        results.append(result)
    names = ", ".join(f"%r{number}" for number in range(len(chosen)))
    whole = f"tuple<{', '.join(results)}>"
    lines.append(f"%all = builtin.unrealized_conversion_cast {names} : {', '.join(results)} to {whole}")
    body = "\n  ".join(lines)
    prims = "".join(prim(f"k{number}", form) for number, form in enumerate(chosen))
    return f"{prims}\nfunc.func @main({params}) -> {whole} {{\n  {body}\n  return %all : {whole}\n}}\n"
