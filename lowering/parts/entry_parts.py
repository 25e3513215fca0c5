"""Entry points as compilation units: functions with equal parameters and results share their code, compiled once.

The code calls the function `_CALLEE` and refers to its strings by number (`OutsideTexts`). A unit maps its symbols to
those of the module (`Part.renamed`), so that existing code is linked under other names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.attributes import LATENCY_CRITICAL, MAY_FAIL, PRIM_FUNC, SAYS_PLACE, SEPARATE
from relax_mlir.lowering.abi.callee import Callee, flat_types
from relax_mlir.lowering.abi.ffi_wrapper import PARAMETERS, Wrapper
from relax_mlir.lowering.abi.quick_wrapper import QuickWrapper
from relax_mlir.lowering.abi.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.abi.signature import ENTRY_PREFIX, Signature
from relax_mlir.lowering.abi.texts import OutsideTexts
from relax_mlir.lowering.parts.module_parts import Part
from relax_mlir.lowering.runtime_lib.support import CONSTRUCT, CORE_NAMES, CORE_SEPARATE, DECLARED
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Code, Fragment, functions, symbol

ENTRY_GROUP = "relax.entry"
_NAME = "relax.entry"
"""The name of the function in the code."""
_CALLEE = "relax.entry.callee"
_FLAT_PREFIX = "relax.flat."
"""Prefix of a function that calls another one; `mangle-names` ensures that no user function has it."""
_CONSTRUCTORS = ("relax.rt.construct", "relax.rt.global")

_PLAIN = 'llvm.passthrough = ["optnone", "noinline"]'


def shares_code(signature: Signature, callee: Callee) -> bool:
    """True if an entry point is a separate unit: it takes tensors, integers and shapes, and allocates its results."""
    params = [leaf for param in signature.params for leaf in param.leaves()]
    results = [leaf for result in signature.results for leaf in result.leaves()]
    return (
        any(leaf.is_tensor for leaf in [*params, *results])
        and not any(leaf.is_handle for leaf in params)
        and all(leaf.is_tensor and not leaf.returned for leaf in results)
        and not signature.recursive
        and not callee.results
    )


def take_out(
    module: ir.Module,
    function: func.FuncOp,
    signature: Signature,
    kind: type[Wrapper],
    fragment: Fragment,
    marks: Sequence[str],
) -> Part:
    """Build the entry point of a function that `shares_code`, as a compilation unit.

    The module keeps a declaration of it, with `marks`, and the strings (in `fragment`). The unit calls the function and
    `@f.shapes`, which both return a status.
    """
    own = Fragment()
    texts = OutsideTexts(own)
    is_quick = kind is QuickWrapper
    shapes = functions(module)[function.name.value + SHAPES_SUFFIX]
    inputs = tuple(map(_without_sizes, function.type.inputs))
    says_place = PRIM_FUNC not in function.attributes
    if is_quick:
        called, types = (
            _with_flat_arguments(signature.name, function, fragment, _marks(says_place)),
            _flat(function),
        )
    else:
        called, types = function.name.value, list(inputs)
        _mark(function, _marks(says_place))
    _mark(shapes, _marks(True))
    own.declare(_CALLEE, f"({', '.join(types)}) -> ()", ", ".join(_marks(says_place)))
    own.declare(_CALLEE + SHAPES_SUFFIX, str(shapes.type), ", ".join(_marks(True)))
    names = {
        ENTRY_PREFIX + _NAME: ENTRY_PREFIX + signature.name,
        _CALLEE: called,
        _CALLEE + SHAPES_SUFFIX: shapes.name.value,
    }
    wrapper = kind(signature, Callee(_CALLEE, _NAME, inputs, (), is_quick), own, texts)
    wrapper.write()
    texts.stand_for(f" (in {_NAME})", f" (in {signature.name})")
    head = f"{symbol(ENTRY_PREFIX + _NAME)}({PARAMETERS})"
    own.function(head, wrapper.code, "" if is_quick else _PLAIN)
    names.update(texts.symbols)
    for text in texts.globals:
        fragment.define(text)
    fragment.define(
        f"llvm.func {symbol(ENTRY_PREFIX + signature.name)}(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32 "
        f"attributes {{{', '.join([SEPARATE, *marks])}}}"
    )
    return _part(own, names, len(wrapper.code.lines))


def show(part: Part, module: ir.Module) -> None:
    """Insert a compilation unit into a module as a nested module, for inspection, with its symbol mapping."""
    names = dict(part.renamed)
    with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
        nested = ir.Module.parse(part.source).operation.clone()
        nested.attributes["sym_name"] = ir.StringAttr.get(
            names[part.exported[0]].replace(ENTRY_PREFIX, f"{ENTRY_GROUP}.", 1)
        )
        nested.attributes["relax.renamed"] = ir.DictAttr.get(
            {name: ir.StringAttr.get(other) for name, other in names.items()}
        )


def _marks(says_place: bool) -> list[str]:
    """The attributes of a function that returns a status to a compilation unit."""
    return [MAY_FAIL, *([SAYS_PLACE] if says_place else [])]


def _mark(function: func.FuncOp, marks: Sequence[str]) -> None:
    """Make a function of the module return a status and visible to other units."""
    for mark in marks:
        function.attributes[mark] = ir.UnitAttr.get(function.context)
    if "sym_visibility" in function.attributes:
        del function.attributes["sym_visibility"]


def _flat(function: func.FuncOp) -> list[str]:
    """The types of a function's arguments, with each buffer replaced by its data pointer and sizes."""
    types = []
    for type_ in function.type.inputs:
        types += flat_types(type_.rank) if isinstance(type_, ir.MemRefType) else [str(type_)]
    return types


def _with_flat_arguments(entry: str, function: func.FuncOp, fragment: Fragment, marks: Sequence[str]) -> str:
    """Emit a function with flat arguments around another one, which is inlined: the unit passes fewer arguments.

    Returns its name.
    """
    code, name = Code(), f"{_FLAT_PREFIX}{entry}"
    words = iter(_flat(function))
    parameters: list[str] = []
    values: list[str] = []

    def parameter() -> str:
        given = f"%a{len(parameters)}"
        parameters.append(f"{given}: {next(words)}")
        return given

    for type_ in function.type.inputs:
        first = parameter()
        if isinstance(type_, ir.MemRefType):
            values.append(code.memref(first, [parameter() for _ in range(type_.rank)], str(type_)))
        else:
            values.append(first)
    types = str(function.type)
    code.do(f"func.call {fragment.declare(function.name.value, types)}({', '.join(values)}) : {types}")
    code.do("func.return")
    fragment.function(f"{symbol(name)}({', '.join(parameters)})", code, ", ".join([LATENCY_CRITICAL, *marks]))
    return name


def _without_sizes(type_: ir.Type) -> str:
    """A type with the same native form; for a buffer it depends only on the rank."""
    if not isinstance(type_, ir.MemRefType):
        return str(type_)
    return f"memref<{'?x' * type_.rank}i8>"


def _part(own: Fragment, names: Mapping[str, str], ops: int) -> Part:
    """The unit with the contents of `own` and the declarations that it needs; `names` maps its symbols."""
    entry = ENTRY_PREFIX + _NAME
    texts = [CORE_SEPARATE, own.text(known={*CORE_NAMES, *_CONSTRUCTORS})]
    if own.declared() & set(_CONSTRUCTORS):
        texts[1:1] = [DECLARED, CONSTRUCT]
    return Part(
        source="\n".join(texts).encode(),
        exported=(entry,),
        used_within=(),
        external=(*(name for name in names if name != entry), *CORE_NAMES),
        group=ENTRY_GROUP,
        ops=ops,
        is_flat=False,
        all_vectors=False,
        optimised=False,
        has_checks=True,
        renamed=tuple(names.items()),
        has_math=False,
    )
