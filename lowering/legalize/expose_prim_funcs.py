"""Pass ``expose-prim-funcs``: prim funcs that users may call get an entry with their name (R0)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, EXPOSES, PRIM_ATTRS, PRIM_FUNC
from relax_mlir.dialects.prim_funcs import PrimParam, prim_params
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.symbols import all_dims, parameter_symbols
from relax_mlir.dialects.types import Prim, StructInfo, Tensor
from relax_mlir.dialects.value import Var
from relax_mlir.error import UnsupportedError, VerifyError
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.ir_queries import fresh_name, symbol_names
from relax_mlir.lowering.legalize.prim_call_sites import called_by_prims, stores
from relax_mlir.mlir import func, ir
from relax_mlir.transform import ModulePass, PassContext, relax_functions

GLOBAL_SYMBOL = "global_symbol"


class ExposePrimFuncs(ModulePass):
    """Define an entry, a Relax function of the same name, for each prim func that is called from outside.

    These are all prim funcs of a module without Relax functions; otherwise those with the attribute ``global_symbol``.
    Prim funcs without declared parameters get none, because their arguments could not be checked (see
    `require_entries`). The entry takes the parameters of the prim func, results included, returns nothing, and has no
    body before level M, where `call-exposed-prim-funcs` adds the call of the prim func.
    """

    name: ClassVar[str] = "expose-prim-funcs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Add the entries to the module.

        Raises `UnsupportedError` for a prim func whose ``global_symbol`` is the name of another function, and
        `VerifyError` for an existing entry that this pass would not make.
        """
        prims = {op.name.value: op for op in functions_of(module) if PRIM_FUNC in op.attributes}
        is_alone = not relax_functions(module)
        there = {_callee(function, prims) for function in relax_functions(module) if EXPOSES in function.attributes}
        names = {name: exported_name(prim, is_alone) for name, prim in prims.items() if name not in there}
        written = {name: _written(name, prims) for name, exported in names.items() if exported is not None}
        for name, exported in names.items():  # this renames callees of the others
            if exported is not None:
                _expose(module, prims[name], name, exported, sorted(written[name]))


def require_entries(module: ir.Module) -> None:
    """Raise `UnsupportedError` if a module without Relax functions has a prim func that cannot be called."""
    if relax_functions(module):
        return
    prims = {op.name.value: op for op in functions_of(module) if PRIM_FUNC in op.attributes}
    called = called_by_prims(prims)
    for name, prim in prims.items():
        if name not in called and not prim.is_external and prim_params(prim) is None:
            raise UnsupportedError(
                f"{location_text(prim.location)}: prim func '{prim.name.value}' cannot be called: it does not declare "
                "its parameters (relax.params), so that nothing can check arguments, and no other function calls it"
            )


def exported_name(prim: func.FuncOp, is_alone: bool) -> str | None:
    """The name by which a prim func can be called from outside; None if it cannot be."""
    if prim.is_external:
        return None
    attributes = prim.attributes.get(PRIM_ATTRS)
    if isinstance(attributes, ir.DictAttr) and GLOBAL_SYMBOL in attributes:
        return ir.StringAttr(attributes[GLOBAL_SYMBOL]).value
    return prim.name.value if is_alone else None


def _callee(entry: func.FuncOp, prims: dict[str, func.FuncOp]) -> str:
    """The prim func of an entry that an earlier run has made; raises `VerifyError` for other entries."""
    given = entry.attributes[EXPOSES]
    callee = given["callee"] if isinstance(given, ir.DictAttr) and "callee" in given else None
    name = callee.value if isinstance(callee, ir.FlatSymbolRefAttr) else ""
    if name not in prims or not _is_entry(entry, name, prims):
        raise VerifyError(
            f"{location_text(entry.location)}: function '{entry.name.value}' has an attribute {EXPOSES} that "
            "expose-prim-funcs has not made: leave it out"
        )
    return name


def _is_entry(entry: func.FuncOp, name: str, prims: dict[str, func.FuncOp]) -> bool:
    """True if a function takes the declared parameters of its prim func, and lists those that this writes.

    Prim funcs that others call no longer declare parameters, and do not rely on them.
    """
    params = prim_params(prims[name])
    if prims[name].is_external or (params is None and name not in called_by_prims(prims)):
        return False
    given = [argument.type for argument in entry.arguments]
    if params is not None and given != [_info(param).to_type() for param in params]:
        return False
    written = ir.DenseI64ArrayAttr.get(sorted(_written(name, prims)))
    ops = [view.operation for view in entry.entry_block.operations]
    is_empty = all(op.name in ("func.return", TUPLE) or _names_integer(op) for op in ops)
    return is_empty and ir.DictAttr(entry.attributes[EXPOSES]) == _exposes(name, written)


def _names_integer(op: ir.Operation) -> bool:
    """True if an op binds an integer parameter to the symbol that it is declared as."""
    return bool(op.name == "relax.match_shape" and isinstance(op.operands[0].type, ir.IntegerType))


def _exposes(name: str, written: ir.DenseI64ArrayAttr) -> ir.DictAttr:
    return ir.DictAttr.get({"callee": ir.FlatSymbolRefAttr.get(name), "written": written})


def _expose(module: ir.Module, prim: func.FuncOp, name: str, exported: str, written: list[int]) -> None:
    params = prim_params(prim)
    if params is None:
        return
    _require_symbols(prim, name, params)
    if exported != name and exported in symbol_names(module.body):
        raise UnsupportedError(
            f"{location_text(prim.location)}: prim func '{name}' has the global_symbol '{exported}', which another "
            "function is called"
        )
    if exported == name:
        inner = fresh_name(name + EXPOSED_SUFFIX, symbol_names(module.body))
        prim.attributes["sym_name"] = ir.StringAttr.get(inner)
        ir.SymbolTable.replace_all_symbol_uses(name, inner, module.operation)
        name = inner
    builder = BlockBuilder(IRModule(module))
    with builder.function(exported, [Var(p.name, _info(p)) for p in params]):
        builder.emit_func_output(())
    entry = builder.lookup(exported)
    with module.context:
        entry.operation.location = prim.location
        entry.attributes[EXPOSES] = _exposes(name, ir.DenseI64ArrayAttr.get(written))


def _require_symbols(prim: func.FuncOp, name: str, params: Sequence[PrimParam]) -> None:
    """Raise VerifyError if no buffer dimension determines a symbol in a shape: arguments could not be checked."""
    infos = [_info(param) for param in params]
    known = set(parameter_symbols(infos))
    for param, info in zip(params, infos, strict=True):
        for symbol in sorted(
            {symbol for dim in all_dims(info) if dim is not None for symbol in symbolic.symbols(dim)} - known
        ):
            raise VerifyError(
                f"{location_text(prim.location)}: prim func '{name}': parameter '{param.name}: {info}' uses symbol "
                f"'{symbol}', which no dimension of a buffer defines, by being the symbol alone or a linear expression "
                f"of it; give '{param.name}' a symbol for the dimension, or add a buffer of '{symbol}' elements"
            )


def _info(param: PrimParam) -> StructInfo:
    if param.shape is None or param.dtype is None:
        return Prim("int64", value=param.name)
    return Tensor(param.shape, param.dtype.name)


def _written(name: str, prims: dict[str, func.FuncOp]) -> set[int]:
    """The indices of the arguments that a prim func writes: by stores, or as destinations of its results."""
    prim = prims[name]
    tensors = [i for i, t in enumerate(prim.type.inputs) if isinstance(t, ir.RankedTensorType)]
    results = len(prim.type.results)
    return {*stores(name, prims, {}), *(tensors[len(tensors) - results :] if results else ())}
