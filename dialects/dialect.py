"""The Relax dialect: its definition object, loading, and its IRDL text.

The classes of `relax_mlir.dialects` (one file per op family) are the source of truth; ``relax.irdl.mlir`` is
printed from them by `relax_mlir.dialects.generate_irdl` so that stock ``mlir-opt`` can load it.
"""

from __future__ import annotations

import importlib
import io
from contextlib import nullcontext
from threading import RLock
from typing import ClassVar

from relax_mlir.mlir import ext, ir

NAMESPACE = "relax"

_LOADING = RLock()

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
"""Modules that define the types and ops, in the order in which they are printed."""


class Relax(ext.Dialect, name=NAMESPACE):
    """Dialect of TVM Relax: dataflow, symbolic shapes, destination-passing and packed calls."""

    _definition: ClassVar[tuple[tuple[object, ...], bytes]] = ((), b"")
    """The classes of an IRDL module that was emitted, and its bytecode."""

    @classmethod
    def _emit_module(cls) -> ir.Module:
        """The dialect as IRDL; each context needs one, and reading it is ten times quicker than emitting it."""
        classes = (*cls.types, *cls.attributes, *cls.operations)
        known, code = cls._definition
        if classes != known:
            buffer = io.BytesIO()
            super()._emit_module().operation.write_bytecode(buffer)
            code = buffer.getvalue()
            cls._definition = (classes, code)
        with ir.Location.unknown() if not ir.Location.current else nullcontext():
            return ir.Module.parse(code)


ext._cext.globals.append_dialect_search_prefix(__name__.rpartition(".")[0])


def import_families() -> None:
    """Import every module that defines types or ops, so that `Relax` knows them all, in the order of `FAMILIES`."""
    for family in FAMILIES:
        importlib.import_module(f"relax_mlir.dialects.{family}")
    order = {f"relax_mlir.dialects.{family}": number for number, family in enumerate(FAMILIES)}
    Relax.operations.sort(key=lambda op: order.get(op.__module__, len(order)))


def load(context: ir.Context) -> None:
    """Load the dialect into `context`; a second call does nothing."""
    # The bindings write to classes and tables of the process while they load a dialect.
    with _LOADING:
        import_families()
        with context:
            if not context.is_dialect_loaded(NAMESPACE):
                Relax.load()


def context() -> ir.Context:
    """A new context with the dialect loaded."""
    new = ir.Context()
    new.enable_multithreading(False)
    load(new)
    return new
