"""`emit-ffi-wrappers`: the TVM FFI entry point `__tvm_ffi_<name>` of every function with `relax.signature`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.dialects.attributes import (
    LATENCY_CRITICAL,
    MAY_FAIL,
    PRIM_FUNC,
    SAYS_PLACE,
    SEPARATE,
    SIGNATURE,
    TAKES_HANDLES,
)
from relax_mlir.lowering.base.errors import OutsideTexts
from relax_mlir.lowering.base.module_parts import Part
from relax_mlir.lowering.base.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.base.signature import (
    ENTRY_PREFIX,
    INPUTS,
    Callee,
    Signature,
    flat_types,
    signature_of,
)
from relax_mlir.lowering.base.support import (
    CONSTRUCT,
    CORE_NAMES,
    CORE_SEPARATE,
    DECLARED,
    define_object_support,
    define_support,
)
from relax_mlir.lowering.entry.ffi_wrapper import PARAMETERS, InlineEntry, Wrapper
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Code, Fragment, functions, symbol
from relax_mlir.transform import ModulePass, PassContext

# Entry points as compilation units: functions with equal parameters and results share their code, compiled once.
#
# The code calls the function `_CALLEE` and refers to its strings by number (`OutsideTexts`). A unit maps its symbols to
# those of the module (`Part.renamed`), so that existing code is linked under other names.


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
    is_quick = kind is InlineEntry
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
        is_shared=True,
        ops=ops,
        is_flat=False,
        all_vectors=False,
        optimised=False,
        has_checks=True,
        renamed=tuple(names.items()),
        has_math=False,
    )


# `emit-ffi-wrappers`: the TVM FFI entry point `__tvm_ffi_<name>` of every function with `relax.signature`.
#
# An entry point takes the arguments of a TVM FFI safe call (self, TVMFFIAny array, count, result). It checks their
# number, kind, device, dtype and rank, and calls `@<name>.shapes`, which checks the dimensions and returns the sizes of
# the results. It copies inputs whose strides are not row-major, allocates the results or takes those of the caller, and
# calls `@<name>`, which itself returns the results whose sizes are not known before the call. The code uses the same
# declarations as every other function, so `lower-checks` also generates its error paths.


@dataclass
class EmitFFIWrappers(ModulePass):
    """Emit the TVM FFI entry point `__tvm_ffi_<name>` of every function that has `relax.signature`.

    Also defines the support functions. With `separate`, separately compiled code moves out of the module, which keeps
    declarations of it: the support functions common to all modules, and entry points that share code (`shares_code`).
    It becomes nested modules, unless `hand_on` takes it.
    """

    name: ClassVar[str] = "emit-ffi-wrappers"
    separate: bool = False
    hand_on: Callable[[list[Part]], None] | None = field(default=None, init=False)
    """Takes the separate compilation units."""

    @classmethod
    def handing_on(cls, hand_on: Callable[[list[Part]], None] | None) -> EmitFFIWrappers:
        """Create the pass; if `hand_on` is not None, it receives the separate compilation units."""
        made = cls(separate=hand_on is not None)
        made.hand_on = hand_on
        return made

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        define_support(module, self.separate)
        fragment, parts = Fragment(), []
        for function in functions(module).values():
            if SIGNATURE not in function.attributes:
                continue
            signature = signature_of(function.operation)
            marks = [f"{INPUTS} = {signature.inputs} : i64"]
            marks += [LATENCY_CRITICAL] if LATENCY_CRITICAL in function.attributes else []
            marks += [TAKES_HANDLES] if signature.takes_handles else []
            is_quick = LATENCY_CRITICAL in function.attributes and InlineEntry.suits(signature)
            kind = InlineEntry if is_quick else Wrapper
            callee = Callee.of(function, signature)
            if self.separate and shares_code(signature, callee):
                parts.append(take_out(module, function, signature, kind, fragment, marks))
                continue
            wrapper = kind(signature, callee, fragment)
            wrapper.write()
            head = f"{symbol(ENTRY_PREFIX + signature.name)}({PARAMETERS})"
            fragment.function(head, wrapper.code, ", ".join(marks))
        fragment.splice(module)
        if self.hand_on is not None:
            self.hand_on(parts)
        else:
            for part in parts:
                show(part, module)
        define_object_support(module)
