"""Entry points as parts: functions that take and give the same have the same code there, which is compiled once.

The code names the function by `_CALLEE`, and its texts by numbers (`OutsideTexts`): a part says which symbols of the
module these stand for (`Part.renamed`), so that code that is there already is linked under other names.
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
"""Before the name of a function, for one that calls it; no function of a user is called so (`mangle-names`)."""
_CONSTRUCTORS = ("relax.rt.construct", "relax.rt.global")

_PLAIN = 'llvm.passthrough = ["optnone", "noinline"]'


def shares_code(signature: Signature, callee: Callee) -> bool:
    """Whether an entry point is compiled apart: it takes tensors, numbers and shapes, and makes all of its results."""
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
    """The entry point of a function that `shares_code`, as a part.

    The module keeps a declaration of it, with `marks`, and the texts (in `fragment`); the part calls the function and
    `@f.shapes`, which both give a status.
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
    """Put a part into a module as one within it, for people to look at: with the symbols that its own stand for."""
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
    """The attributes of a function that gives a status to a part."""
    return [MAY_FAIL, *([SAYS_PLACE] if says_place else [])]


def _mark(function: func.FuncOp, marks: Sequence[str]) -> None:
    """Let a function of the module give a status, and be seen by parts."""
    for mark in marks:
        function.attributes[mark] = ir.UnitAttr.get(function.context)
    if "sym_visibility" in function.attributes:
        del function.attributes["sym_visibility"]


def _flat(function: func.FuncOp) -> list[str]:
    """The types of a function's arguments, where a buffer is the address of its elements and its sizes."""
    types = []
    for type_ in function.type.inputs:
        types += flat_types(type_.rank) if isinstance(type_, ir.MemRefType) else [str(type_)]
    return types


def _with_flat_arguments(entry: str, function: func.FuncOp, fragment: Fragment, marks: Sequence[str]) -> str:
    """Write a function that calls another one, which is inlined into it: fewer words go from the part to the module.

    Gives its name.
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
    """A type that has the same form in native code; the rank of a buffer is all that this depends on."""
    if not isinstance(type_, ir.MemRefType):
        return str(type_)
    return f"memref<{'?x' * type_.rank}i8>"


def _part(own: Fragment, names: Mapping[str, str], ops: int) -> Part:
    """What `own` holds, whose symbols stand for others as `names` say, with declarations of what it calls."""
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
