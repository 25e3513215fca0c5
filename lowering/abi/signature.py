"""`relax.signature`: the parameters and results of a public function, as its FFI wrapper needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.ffi_dtypes import DType, dtype_named
from relax_mlir.mlir import ir

ENTRY_PREFIX = "__tvm_ffi_"
"""The prefix of an entry point's symbol; the name of the function follows."""

INPUTS = "relax.inputs"
"""Attribute of an entry point: the number of parameters."""

MEMORY_PLAN = "relax.memory_plan"
"""Attribute of a function: its memory plan, as text (see `lowering.memory.report`)."""

RELEASE = "__relax_release"
CONSTANTS_ADDRESS = "__relax_constants_address"
MEMORY_ADDRESS = "__relax_memory_address"
PROFILE_ADDRESS = "__relax_profile_address"
THREADS_ADDRESS = "__relax_threads_address"
"""The functions that `emit-lifecycle` emits."""

KINDS = ("tensor", "shape", "int", "object", "tuple")


@dataclass(frozen=True)
class Value:
    """A parameter or result.

    `type` is the type that errors show; `dtype` belongs to tensors, `ndim` to tensors and shapes (None: not known),
    `fields` to tuples. `returned`: the function itself returns this result; the others are tensors that its entry point
    allocates before the call.
    """

    name: str
    kind: str
    type: str
    dtype: DType | None = None
    ndim: int | None = 0
    fields: tuple[Value, ...] = ()
    returned: bool = False

    @property
    def is_handle(self) -> bool:
        """True if the function takes or returns a handle: the two words of a TVMFFIAny."""
        return self.kind == "object" or self.ndim is None or (self.kind == "tensor" and self.dtype is None)

    @property
    def is_tensor(self) -> bool:
        """True for a tensor of known rank and dtype."""
        return self.kind == "tensor" and not self.is_handle

    @property
    def dims(self) -> int:
        """The number of index values that `@f.shapes` takes (or returns) for it."""
        if self.kind == "tuple":
            return sum(field.dims for field in self.fields)
        if self.returned:
            return 0
        return 1 if self.kind == "int" else self.ndim or 0

    @property
    def arguments(self) -> int:
        """The number of arguments that `@f` takes for it: two for a handle, the sizes of a shape, otherwise one."""
        if self.kind == "tuple":
            return sum(field.arguments for field in self.fields)
        if self.is_handle:
            return 2
        return self.dims if self.kind == "shape" else 1

    def longest_tuple(self) -> int:
        """The number of fields of the longest tuple in the value; 0 without tuples."""
        return max([len(self.fields), *(field.longest_tuple() for field in self.fields)])

    def leaves(self) -> Iterator[Value]:
        """Yield the value itself, or the leaves of its fields in order."""
        if self.kind != "tuple":
            yield self
        for field in self.fields:
            yield from field.leaves()


@dataclass(frozen=True)
class Place:
    """The position of a leaf in the parameters: indices of the parameter and of nested fields, and its name."""

    path: tuple[int, ...]
    name: str


def before_results(written: Sequence[Place], count: int) -> int:
    """The number of parameters before the written ones, if these are the last; otherwise `count`."""
    first = count - len(written)
    return (
        first if [place.path for place in written] == [(number,) for number in range(first, count)] else count
    )


@dataclass(frozen=True)
class Signature:
    """Name, parameters and results of a public function; `tuple_result`: it returns an FFI Array."""

    name: str
    params: tuple[Value, ...]
    results: tuple[Value, ...]
    tuple_result: bool
    recursive: bool = False
    """The function may call itself; its last argument is the address that stack depth is measured from."""
    written: tuple[int, ...] = ()
    """Indices of arguments that the function writes: destinations of a prim func, and those donated to results."""

    @property
    def written_places(self) -> tuple[Place, ...]:
        """The parameters, or fields of them, that the function writes."""
        found: list[Place] = []
        start = 0
        for number, param in enumerate(self.params):
            for path, leaf in _paths(param, (number,)):
                if start in self.written:
                    found.append(Place(path, leaf.name))
                start += leaf.arguments
        return tuple(found)

    @property
    def inputs(self) -> int:
        """The number of parameters before the results (see `before_results`)."""
        return before_results(self.written_places, len(self.params))

    @property
    def takes_results(self) -> bool:
        """True if callers may pass the results in: all are tensors whose sizes are known before the call."""
        return (
            bool(self.results)
            and not self.written
            and all(r.kind == "tensor" and not r.returned for r in self.results)
        )

    @property
    def takes_handles(self) -> bool:
        """True if a parameter, or a part of one, is passed on as a handle because its type is not fully known."""
        return any(leaf.is_handle for param in self.params for leaf in param.leaves())


def _plain(attribute: ir.Attribute) -> Any:  # noqa: ANN401 - the tree of an attribute
    if isinstance(attribute, ir.DictAttr):
        return {named.name: _plain(named.attr) for named in attribute}
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(a) for a in attribute]
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return list(attribute)
    if isinstance(attribute, ir.UnitAttr):
        return True
    if isinstance(attribute, ir.StringAttr | ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr):
        return attribute.value
    return str(attribute)


plain = _plain


def _paths(value: Value, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Value]]:
    """Yield the leaves of a value with their paths."""
    if value.kind != "tuple":
        yield path, value
    for number, field in enumerate(value.fields):
        yield from _paths(field, (*path, number))


def _value(data: dict[str, Any], default: str, *, result: bool) -> Value:
    kind = data.get("kind", "tensor")
    if kind not in KINDS:
        raise CompileError(f"relax.signature: kind {kind!r} of {default}; known kinds: {', '.join(KINDS)}")
    name = data.get("name", default)
    fields = tuple(_value(f, f"{name}[{i}]", result=result) for i, f in enumerate(data.get("fields", ())))
    dtype = dtype_named(data["dtype"]) if "dtype" in data else None
    ndim = int(data["ndim"]) if "ndim" in data else None if kind in ("tensor", "shape") else 0
    text = data.get("type") or (f"Tensor of {ndim} dimensions" if kind == "tensor" else kind)
    returned = result and (kind in ("shape", "int", "object") or bool(data.get("returned", False)))
    return Value(name, kind, text, dtype, ndim, fields, returned)


def signature_of(func_op: ir.Operation) -> Signature:
    """Read the attribute `relax.signature` of a function; raise CompileError naming what is malformed."""
    return signature_from(_plain(func_op.attributes[SIGNATURE]))


def signature_from(data: dict[str, Any]) -> Signature:
    """Build the signature from the attribute's contents (`plain`); raise CompileError naming what is malformed."""
    try:
        params = tuple(_value(p, f"#{i}", result=False) for i, p in enumerate(data.get("params", ())))
        results = tuple(_value(r, f"result {i}", result=True) for i, r in enumerate(data.get("results", ())))
        written = tuple(int(number) for number in data.get("written", ()))
        is_tuple = bool(data.get("tuple", len(results) != 1))
        return Signature(data["name"], params, results, is_tuple, bool(data.get("recursive", False)), written)
    except (KeyError, TypeError) as error:
        raise CompileError(f"malformed relax.signature {data!r}: {error}") from error
