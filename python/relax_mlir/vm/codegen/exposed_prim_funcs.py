"""Prim funcs exposed to users: a VM function for each, which calls the native entry point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, EXPOSES, PARAMS, PRIM_ATTRS
from relax_mlir.dialects.prim_params import PrimParam, params_attr
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.legalize.expose_prim_funcs import GLOBAL_SYMBOL, ExposePrimFuncs
from relax_mlir.mlir import func, ir
from relax_mlir.transform import PassContext, relax_functions
from relax_mlir.vm.exec_builder import ExecBuilder


@dataclass(frozen=True)
class Entry:
    """A prim func that users may call.

    Attributes:
        name: the name under which it is called.
        prim: the prim func in the module.
        params: its declared parameters.
    """

    name: str
    prim: str
    params: tuple[PrimParam, ...]

    @property
    def packed(self) -> str:
        """The packed function that the VM function calls: the native entry point, which checks the arguments."""
        return self.name + EXPOSED_SUFFIX

    def write(self, builder: ExecBuilder) -> None:
        """Emit the VM function."""
        names = [param.name for param in self.params]
        with builder.function(self.name, len(names), names, allow_unused=True):
            registers = [builder.r(number) for number in range(len(names))]
            result = builder.r(len(names))
            builder.emit_call(self.packed, args=registers, dst=result)
            builder.emit_ret(result)


def expose(module: ir.Module) -> list[Entry]:
    """Expose the prim funcs that users may call; see `take_entries`."""
    with module.context:
        ExposePrimFuncs().run(module, PassContext.current())
    return take_entries(module)


def take_entries(module: ir.Module) -> list[Entry]:
    """Remove the entries that `expose-prim-funcs` has added to a module, and return them.

    Raises `UnsupportedError` if the packed function of an entry has the name of another function.
    """
    names = {function.name.value for function in relax_functions(module)}
    entries = []
    for function in relax_functions(module):
        if EXPOSES not in function.attributes:
            continue
        prim = ir.FlatSymbolRefAttr(ir.DictAttr(function.attributes[EXPOSES])["callee"]).value
        entry = Entry(function.name.value, prim, tuple(_params(function)))
        if entry.packed in names:
            raise UnsupportedError(
                f"{location_text(function.location)}: prim func '{entry.name}' needs the name '{entry.packed}' in "
                "bytecode, which a function of the module has: rename that function"
            )
        entries.append(entry)
        function.operation.erase()
    return entries


def _params(entry: func.FuncOp) -> Iterator[PrimParam]:
    """Yield the parameters of an entry from its signature; a prim func that others call has lost its own list."""
    for name, argument in zip(parameter_names(entry), entry.arguments, strict=True):
        info = struct_info(argument.type)
        if isinstance(info, Tensor):
            assert info.known_shape is not None and info.dtype is not None
            yield PrimParam(name, info.known_shape, info.dtype)
        else:
            yield PrimParam(name, None, None)


def name_entry(prim: ir.Operation, entry: Entry) -> None:
    """Mark a prim func among the kernels, so that `expose-prim-funcs` gives it an entry when they are compiled."""
    prim.attributes[PARAMS] = params_attr(entry.params)
    given = prim.attributes[PRIM_ATTRS] if PRIM_ATTRS in prim.attributes else ir.DictAttr.get({})
    kept = {named.name: named.attr for named in ir.DictAttr(given)}
    prim.attributes[PRIM_ATTRS] = ir.DictAttr.get({**kept, GLOBAL_SYMBOL: ir.StringAttr.get(entry.name)})
