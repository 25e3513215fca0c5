"""The Relax dialect: its definition object, types, loading, IRDL text, and pool of contexts.

The classes of `relax_mlir.dialects` (one file per op family) are the source of truth; ``relax.irdl.mlir`` is
printed from them by `relax_mlir.dialects.generate_irdl` so that stock ``mlir-opt`` can load it.

The bindings' DSL evaluates the annotations of types and ops: files that define them omit
``from __future__ import annotations``.

Creating a context takes four times as long as building a small module in it: unused contexts are kept in a pool, and
reused with the pass managers that `relax_mlir.transform` caches per context.
"""

import functools
import gc
import importlib
import io
import pkgutil
import sys
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir import capi
from relax_mlir.dialects.constants import holds_arrays
from relax_mlir.fork_safety import Order, after_fork_in_child, process_lock
from relax_mlir.memory_left import CONTEXT, STEP, require
from relax_mlir.mlir import PassManager, ext, ir, irdl

NAMESPACE = "relax"

_LOADING = process_lock(Order.DIALECT)

HELPERS = frozenset(
    {
        *("attributes", "base", "builders", "call_forms", "constants", "construction", "control", "dialect"),
        *(
            "dtypes",
            "fields",
            "generate_irdl",
            "location",
            "nodes",
            "number_attributes",
            "prim_funcs",
            "relax",
        ),
        *("symbols", "traits", "types", "value"),
    }
)
"""Modules without ops; all others are families of ops."""


@functools.cache
def families() -> tuple[str, ...]:
    """The modules that define the ops, in alphabetical order, which is that of printing."""
    folders = sys.modules[__name__.rpartition(".")[0]].__path__
    return tuple(sorted({module.name for module in pkgutil.iter_modules(folders)} - HELPERS))


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
        """Load the dialect like `ext.Dialect.load`, but do per-process work only once: it takes half the time."""
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
    """Import every module that defines types or ops, so that `Relax` knows them all."""
    for family in families():
        importlib.import_module(f"relax_mlir.dialects.{family}")
    order = {f"relax_mlir.dialects.{family}": number for number, family in enumerate(families())}
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
    # By the C API: the bindings import the dialect's Python module, which few programs need.
    for name in UPSTREAM:
        if not capi.quick_library().mlirContextGetOrLoadDialect(capi.pointer(new), capi.text(name)):
            raise ImportError(f"the bindings of MLIR have no dialect {name!r}")
    load(new)
    return new


class ShapeAttr(Relax.Attribute, name="shape"):
    """Symbolic dimensions of a tensor type, as its encoding: canonical expressions, integers, or "?"."""

    dims: ir.ArrayAttr


class AnyType(Relax.Type, name="any"):
    """Element type of a tensor whose dtype is unknown."""


class ShapeValueType(Relax.Type, name="shape_value"):
    """A shape as a value; its parameter is a list of dimensions, or ``unit`` if the rank is unknown."""

    dims: ir.ArrayAttr | ir.UnitAttr


class CallableType(Relax.Type, name="callable"):
    """A function as a value: types of its parameters and result (``unit``: unknown), and its purity."""

    inputs: ir.ArrayAttr | ir.UnitAttr
    result: ir.TypeAttr | ir.UnitAttr
    pure: ir.IntegerAttr


class ObjectType(Relax.Type, name="object"):
    """An opaque object: random state, a library's handle."""


KEPT = 8
"""Maximum number of contexts in the pool, in use or not; each takes some MB."""

MOST_USES = 64
"""Maximum number of uses of a context, since types and names of dead modules remain in it."""


@dataclass(eq=False)
class _Kept:
    """A context with its initial number of dialects, the classes of `Relax` that it knows, and its number of uses."""

    context: ir.Context
    dialects: int
    classes: tuple[object, ...]
    uses: int = 1

    def is_free(self) -> bool:
        """True if nothing else references the context: modules, ops, types and locations of the bindings do."""
        return sys.getrefcount(self.context) == _references()

    def is_clean(self) -> bool:
        """True if the context differs from a new one only by types and names of earlier modules."""
        return (
            self.uses < MOST_USES
            and self.classes == classes()
            and self.dialects == _dialects(self.context)
            and not holds_arrays(self.context)
        )


_kept: list[_Kept] = []
_lock = process_lock(Order.CONTEXTS)


def pooled_context() -> ir.Context:
    """A context as from `dialect.context`, for modules that are built op by op, or parsed from text without resources.

    It may be reused from dead modules. A context that holds constant arrays or has loaded other dialects is not reused:
    the arrays would stay in memory, and text without its data would find those of another module.
    """
    require("a module", STEP)
    if (unused := _used_again()) is not None:
        return unused
    if len(_kept) == KEPT and gc.isenabled():
        # Exceptions keep contexts alive in reference cycles. Collecting young garbage takes a twentieth of the time of
        # creating a context.
        gc.collect(1)
        if (unused := _used_again()) is not None:
            return unused
    with _lock:
        _kept.append(_Kept(new := context(), _dialects(new), classes()))
        del _kept[:-KEPT]
        return new


def discard_context(context: ir.Context) -> None:
    """Take a context out of the pool.

    An exception that passes MLIR while it emits a diagnostic leaves the context's lock taken: the thread can go on, but
    other threads, and children of a fork, would wait for the lock.
    """
    with _lock:
        _kept[:] = [kept for kept in _kept if kept.context != context]


def _used_again() -> ir.Context | None:
    """An unused context of the pool, prepared for its next use, or None."""
    with _lock:
        found = _free()
        if found is None:
            return None
        found.uses += 1
        found.context.allow_unregistered_dialects = False
        found.context.enable_multithreading(False)
        return found.context


def _free() -> _Kept | None:
    """An unused, clean entry, or None; unused entries that are not clean are dropped."""
    for kept in [kept for kept in _kept if kept.is_free()]:
        if kept.is_clean():
            return kept
        _kept.remove(kept)
    return None


def _forget_threads() -> None:
    """Drop contexts in use after a fork: in the child, those of other threads would stay in use forever."""
    _kept[:] = [kept for kept in _kept if kept.is_free()]


after_fork_in_child(_forget_threads)


@functools.cache
def _references() -> int:
    """The reference count of a context that only a `_Kept` holds."""
    kept = _Kept(ir.Context(load_on_create_dialects=[]), 0, ())
    return sys.getrefcount(kept.context)


def _dialects(of: ir.Context) -> int:
    return int(capi.quick_library().mlirContextGetNumLoadedDialects(capi.pointer(of)))
