"""The Relax dialect: its definition object, loading, and its IRDL text.

The classes of `relax_mlir.dialects` (one file per op family) are the source of truth; ``relax.irdl.mlir`` is
printed from them by `relax_mlir.dialects.generate_irdl` so that stock ``mlir-opt`` can load it.
"""

from __future__ import annotations

import functools
import importlib
import io
from typing import ClassVar

from relax_mlir import capi
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.memory_left import CONTEXT, require
from relax_mlir.mlir import PassManager, ext, ir, irdl

NAMESPACE = "relax"

_LOADING = process_lock(Order.DIALECT)

FAMILIES = (
    "ir_types",
    "structure",
    "calls",
    "extern_func",
    "inplace",
    "effects",
    "closures",
    "binary",
    "bitwise",
    "cast",
    "comparison",
    "create",
    "data_dependent",
    "logical",
    "reduce",
    "scan",
    "select",
    "shape_values",
    "triangle",
    "trigonometric",
    "unary",
    "linear_algebra",
    "views",
    "manipulate",
    "repetition",
    "sorting",
    "gather",
    "scatter",
    "slice_updates",
    "stacking",
    "one_hot",
    "reverse_sequence",
    "einsum",
    "dynamic_slices",
    "layout_transform",
    "quantiles",
    "collapse",
    "signal",
    "random",
    "nn",
    "activations",
    "padding",
    "transposed_convolution",
    "adaptive_pooling",
    "rearrange",
    "dropout",
    "losses",
    "quantization",
    "image",
    "grid_sample",
    "image_regions",
    "boxes",
    "gradients",
    "recurrent",
    "attention_var_len",
    "group_norm",
    "batch_norm",
    "convolution",
    "pooling",
    "shape_functions",
    "memory",
    "memory_view",
    "vm",
)
"""Modules that define the types and ops, in print order."""


UPSTREAM = (
    "affine",
    "arith",
    "bufferization",
    "builtin",
    "cf",
    "func",
    "index",
    "irdl",
    "linalg",
    "llvm",
    "math",
    "memref",
    "scf",
    "tensor",
    "ub",
    "vector",
    "x86",
)
"""Upstream dialects that every context loads; loading all dialects takes four times as long."""


class Relax(ext.Dialect, name=NAMESPACE):
    """Dialect of TVM Relax: dataflow, symbolic shapes, destination-passing and packed calls."""

    _definition: ClassVar[tuple[tuple[object, ...], bytes]] = ((), b"")
    """The classes of the last IRDL module emitted, and its bytecode."""
    _registered: ClassVar[tuple[object, ...]] = ()
    """The classes registered with the bindings."""

    @classmethod
    def load(cls) -> None:
        """Load the dialect like `ext.Dialect.load`, but do per-process work only once, which halves the time."""
        known = classes()
        if known != cls._definition[0]:
            cls._definition = (known, cls._emit_bytecode())
        irdl.load_dialects(ir.Module.parse(cls._definition[1]))
        for op in cls.operations:
            op._attach_traits()
        for type_ in cls.types:  # type identifiers are per context
            cast = ext._cext.register_type_caster(ir.DynamicType.lookup_typeid(type_.type_name), replace=True)
            cast(type_)
        for attr in cls.attributes:
            cast = ext._cext.register_type_caster(ir.DynamicAttr.lookup_typeid(attr.attr_name), replace=True)
            cast(attr)
        if known == cls._registered:
            return
        cls._registered = known
        ext._cext.globals._register_dialect_impl(cls.DIALECT_NAMESPACE, cls, replace=True)
        for op in cls.operations:
            ext._cext.register_operation(cls, replace=True)(op)
            ext._cext.register_op_adaptor(op, replace=True)(op.Adaptor)

    @classmethod
    def _emit_module(cls) -> ir.Module:
        """The dialect as IRDL, with `irdl.any` in place of each `irdl.any_of`.

        The dialect's alternatives are kinds of attributes (`irdl.base`). MLIR's loader does not support that op among
        the alternatives that it compares: builds with assertions abort. The ops' own verifiers check the kinds
        (`RelaxOp.check_declared`), and invariant 17 of `relax_mlir.analysis.well_formed` covers types.
        """
        module = super()._emit_module()
        for definition in module.body.operations[0].operation.regions[0].blocks[0].operations:
            for op in list(definition.operation.regions[0].blocks[0].operations):
                if op.operation.name == "irdl.any_of":
                    _replace_by_any(op.operation)
        return module

    @classmethod
    def _emit_bytecode(cls) -> bytes:
        """The dialect as IRDL bytecode: each context needs one, and reading it is ten times faster than emitting it."""
        module = cls._emit_module()
        PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        return buffer.getvalue()


def _replace_by_any(op: ir.Operation) -> None:
    with ir.InsertionPoint(op), op.location:
        op.result.replace_all_uses_with(irdl.any())
    alternatives = [operand.owner for operand in op.operands]
    op.erase()
    for alternative in alternatives:
        alternative.erase()


def classes() -> tuple[object, ...]:
    """All classes of types, attributes and ops defined so far."""
    return (*Relax.types, *Relax.attributes, *Relax.operations)


ext._cext.globals.append_dialect_search_prefix(__name__.rpartition(".")[0])


@functools.cache
def import_families() -> None:
    """Import every module that defines types or ops, in the order of `FAMILIES`, so that `Relax` knows them all."""
    for family in FAMILIES:
        importlib.import_module(f"relax_mlir.dialects.{family}")
    order = {f"relax_mlir.dialects.{family}": number for number, family in enumerate(FAMILIES)}
    Relax.operations.sort(key=lambda op: order.get(op.__module__, len(order)))


def load(context: ir.Context) -> None:
    """Load the dialect into `context`; a second call does nothing."""
    # The bindings change process-wide classes and tables while they load a dialect.
    with _LOADING:
        import_families()
        with context:
            if not context.is_dialect_loaded(NAMESPACE):
                Relax.load()


def context() -> ir.Context:
    """A new context with the dialect and `UPSTREAM` loaded; MLIR loads others when text or passes name them."""
    require("a context", CONTEXT)
    new = ir.Context(load_on_create_dialects=[])
    new.enable_multithreading(False)
    for (
        name
    ) in UPSTREAM:  # by the C API: the bindings import the dialect's Python module, which few programs need
        if not capi.quick_library().mlirContextGetOrLoadDialect(capi.pointer(new), capi.text(name)):
            raise ImportError(f"the bindings of MLIR have no dialect {name!r}")
    load(new)
    return new
