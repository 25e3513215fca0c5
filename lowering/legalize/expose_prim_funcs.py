"""Pass ``expose-prim-funcs``: prim funcs that users may call get an entry of their names (R0)."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.builder import BlockBuilder
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, EXPOSES, PRIM_ATTRS, PRIM_FUNC
from relax_mlir.dialects.prim_params import PrimParam, prim_params
from relax_mlir.dialects.types import Prim, StructInfo, Tensor
from relax_mlir.dialects.value import Var
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import fresh_name, symbol_names
from relax_mlir.lowering.legalize.prim_writes import stores
from relax_mlir.mlir import func, ir
from relax_mlir.module_functions import functions_of
from relax_mlir.transform import ModulePass, PassContext, relax_functions

GLOBAL_SYMBOL = "global_symbol"


class ExposePrimFuncs(ModulePass):
    """Give prim funcs that are called from outside a Relax function of their name, which stands for the entry point.

    These are all prim funcs of a module without Relax functions; else those with the attribute ``global_symbol``; but
    none whose parameters are not declared, since nothing could check its arguments (see `require_entries`). The entry
    takes what the prim func takes, results included, gives back nothing, and has no body before level M, where
    `call-exposed-prim-funcs` lets it call the prim func.
    """

    name: ClassVar[str] = "expose-prim-funcs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `UnsupportedError` for a prim func whose ``global_symbol`` is the name of another function."""
        prims = {op.name.value: op for op in functions_of(module) if PRIM_FUNC in op.attributes}
        is_alone = not relax_functions(module)
        for name, prim in prims.items():
            exported = exported_name(prim, is_alone)
            if exported is not None:
                _expose(module, prim, name, exported, prims)


def require_entries(module: ir.Module) -> None:
    """Raise `UnsupportedError` if a module without Relax functions has a prim func that nobody could call."""
    if relax_functions(module):
        return
    for prim in functions_of(module):
        if PRIM_FUNC in prim.attributes and not prim.is_external and prim_params(prim) is None:
            raise UnsupportedError(
                f"{location_text(prim.location)}: prim func '{prim.name.value}' cannot be called: it does not declare "
                "its parameters (relax.params), so that nothing can check arguments, and no Relax function calls it"
            )


def exported_name(prim: func.FuncOp, is_alone: bool) -> str | None:
    """The name by which a prim func can be called from outside; None: it cannot."""
    if prim.is_external:
        return None
    attributes = prim.attributes.get(PRIM_ATTRS)
    if isinstance(attributes, ir.DictAttr) and GLOBAL_SYMBOL in attributes:
        return ir.StringAttr(attributes[GLOBAL_SYMBOL]).value
    return prim.name.value if is_alone else None


def _expose(
    module: ir.Module, prim: func.FuncOp, name: str, exported: str, prims: dict[str, func.FuncOp]
) -> None:
    params = prim_params(prim)
    if params is None:
        return
    if exported != name and exported in symbol_names(module.body):
        raise UnsupportedError(
            f"{location_text(prim.location)}: prim func '{name}' has the global_symbol '{exported}', which another "
            "function is called"
        )
    written = sorted(_written(name, prim, prims))
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
        entry.attributes[EXPOSES] = ir.DictAttr.get(
            {"callee": ir.FlatSymbolRefAttr.get(name), "written": ir.DenseI64ArrayAttr.get(written)}
        )


def _info(param: PrimParam) -> StructInfo:
    if param.shape is None or param.dtype is None:
        return Prim("int64", value=param.name)
    return Tensor(param.shape, param.dtype.name)


def _written(name: str, prim: func.FuncOp, prims: dict[str, func.FuncOp]) -> set[int]:
    """The numbers of the arguments that a prim func writes: those it stores into, or that its results land in."""
    tensors = [i for i, t in enumerate(prim.type.inputs) if isinstance(t, ir.RankedTensorType)]
    results = len(prim.type.results)
    return {*stores(name, prims, {}), *(tensors[len(tensors) - results :] if results else ())}
