"""Types of the Relax dialect, and `StructInfo`, the static information on a value, as Python objects.

``docs/language.md`` has a table of both.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dialect import AnyType, CallableType, ObjectType, ShapeAttr, ShapeValueType
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    ParseError,
    RelaxError,
    ShapeError,
    VerifyError,
    expect,
)
from relax_mlir.lazy import Hook
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

_tuple_of_values: Hook[[Sequence[Any]], object] = Hook("Tuple.of_values")

MAX_BYTES = 2**63 - 1
"""Maximum size of a tensor in bytes: sizes and offsets are 64-bit integers."""

MAX_RANK = 1024
"""Maximum rank that can be given as a number, without dimensions."""


def check_bytes(dims: Iterable[object], itemsize: int, text: abc.Callable[[], str]) -> None:
    """Raise `ShapeError` if the static dimensions, except those of size 0, exceed `MAX_BYTES`."""
    size = itemsize
    for dim in dims:
        if isinstance(dim, int) and dim > 1:
            size *= dim
    if size > MAX_BYTES:
        raise ShapeError(f"Tensor: shape {text()} has more bytes than 64 bits count, which no memory holds")


def unknown_dims(what: str, ndim: int) -> tuple[None, ...]:
    """`ndim` unknown dimensions; raises `ShapeError` for an invalid rank."""
    expect(f"{what}: 'ndim'", ndim, int, "a number of dimensions")
    if not 0 <= ndim <= MAX_RANK:
        raise ShapeError(f"{what}: ndim is {ndim}, expected 0 to {MAX_RANK}")
    return (None,) * ndim


UNKNOWN = "?"
"""The notation of an unknown dimension in shape attributes and annotations."""

INT64 = -(2**63), 2**63 - 1
"""The range of integers in programs."""


def fits_int64(value: int) -> bool:
    """True if a Python integer is in the range of integers in programs."""
    return INT64[0] <= value <= INT64[1]


DimLike = int | str | symbolic.Expr | None


def as_dim(value: DimLike) -> Dim | None:
    """A user-given dimension: an int, expression text or `symbolic.Expr`; None, "?" and "_" mean unknown."""
    if value is None or value in (UNKNOWN, "_"):
        return None
    dim = symbolic.to_dim(value)
    if isinstance(dim, int) and dim < 0:
        raise ShapeError(f"dimension {value!r} is negative")
    numbers = (dim,) if isinstance(dim, int) else (factor for _, factor in dim.terms)
    if not all(map(fits_int64, numbers)):
        raise ShapeError(f"dimension {value!r} does not fit 64 bits: it is more than {INT64[1]}")
    return dim


def dim_text(dim: Dim | None) -> str:
    """A dimension as text for users."""
    return UNKNOWN if dim is None else str(dim)


def shape_text(shape: Sequence[Dim | None] | None) -> str:
    """A shape as text for users: ``(n, 4)``, ``(n,)``, ``()``; ``?`` for an unknown rank."""
    if shape is None:
        return UNKNOWN
    inner = ", ".join(map(dim_text, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def dims_attr(dims: Sequence[Dim | None]) -> ir.ArrayAttr:
    """Dimensions as an array attribute of canonical strings and integers; needs a current context."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [ir.IntegerAttr.get(i64, d) if isinstance(d, int) else ir.StringAttr.get(dim_text(d)) for d in dims]
    )


def dims_from_attr(attribute: ir.Attribute) -> tuple[Dim | None, ...]:
    """The dimensions of an array attribute; raises `VerifyError` or `ParseError` if it is malformed."""
    if not isinstance(attribute, ir.ArrayAttr):
        try:
            attribute = ir.ArrayAttr(attribute)
        except ValueError:
            raise VerifyError(f"{attribute} is not a list of dimensions") from None
    dims: list[Dim | None] = []
    for item in attribute:
        if isinstance(item, ir.IntegerAttr):
            dims.append(as_dim(int(item.value)))
        elif isinstance(item, ir.StringAttr):
            dims.append(as_dim(item.value))
        else:
            raise VerifyError(f"dimension {item} in {attribute} is neither an integer nor a string")
    return tuple(dims)


class StructInfo:
    """Static information on a value. Immutable, with structural ``==`` and ``hash``."""

    def to_type(self) -> ir.Type:
        """The MLIR type; needs a current context with the dialect loaded."""
        raise NotImplementedError  # abstract

    def symbols(self) -> Iterator[str]:
        """Names of the symbols used, in order of occurrence, with repetitions."""
        yield from ()


def _is_value(item: object) -> bool:
    """True for an expression, whose class this module does not import."""
    return hasattr(type(item), "struct_info")


def _infos(what: str, given: Sequence[StructInfo]) -> tuple[StructInfo, ...]:
    """User-given struct infos. Raises `ArgumentError` for anything else."""
    expect(what, given, list | tuple, "a list or tuple of struct infos")
    for index, item in enumerate(given):
        expect(f"{what}[{index}]", item, StructInfo, 'a struct info, such as Tensor(("n",), "float32")')
    return tuple(given)


def _require_dims(where: str, dims: object) -> None:
    """Raise unless `dims` is None or a sequence of dimensions."""
    if isinstance(dims, str | int):
        raise ShapeError(f"a shape is a sequence of dimensions, got {dims!r}; write ({dims!r},)")
    if dims is not None and (isinstance(dims, bytes | Mapping) or not isinstance(dims, Iterable)):
        raise ArgumentError(f"{where} is {dims!r} ({type(dims).__name__}), expected a sequence of dimensions")


@dataclass(frozen=True, init=False)
class Tensor(StructInfo):
    """A tensor. `shape`: a tuple of dimensions (None: unknown), or None if the rank is unknown.

    `dtype`: a dtype name, or None if it is unknown.
    """

    shape: tuple[Dim | None, ...] | None
    dtype: DType | None

    def __init__(
        self,
        shape: Sequence[DimLike] | None = None,
        dtype: str | DType | None = "float32",
        *,
        ndim: int | None = None,
    ) -> None:
        _require_dims("Tensor: 'shape'", shape)
        if shape is None and ndim is not None:
            shape = unknown_dims("Tensor", ndim)
        dims = None if shape is None else tuple(as_dim(d) for d in shape)
        if ndim is not None and dims is not None and len(dims) != ndim:
            raise ShapeError(f"Tensor: ndim is {ndim}, but shape {shape_text(dims)} has {len(dims)} dimensions")
        element = None if dtype is None else dtypes.dtype(dtype)
        if dims is not None:
            check_bytes(dims, 1 if element is None else element.itemsize, lambda: shape_text(dims))
        object.__setattr__(self, "shape", dims)
        object.__setattr__(self, "dtype", element)

    @property
    def ndim(self) -> int | None:
        """Number of dimensions, or None if unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def known_shape(self) -> tuple[Dim, ...] | None:
        """The shape if every dimension is known (static or symbolic), else None."""
        if self.shape is None or any(d is None for d in self.shape):
            return None
        return tuple(d for d in self.shape if d is not None)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The shape, where every dimension is known."""
        shape = self.known_shape
        assert shape is not None
        return shape

    @property
    def element(self) -> DType:
        """The dtype, where it is known."""
        assert self.dtype is not None
        return self.dtype

    def with_dtype(self, dtype: str | DType | None) -> Tensor:
        return Tensor(self.shape, dtype)

    def symbols(self) -> Iterator[str]:
        for dim in self.shape or ():
            if dim is not None:
                yield from symbolic.symbols(dim)

    def to_type(self) -> ir.Type:
        element = AnyType.get() if self.dtype is None else self.dtype.element_type()
        if self.shape is None:
            return ir.UnrankedTensorType.get(element, loc=ir.Location.unknown())
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = [d if isinstance(d, int) else dynamic for d in self.shape]
        symbolic_dims = any(d is not None and not isinstance(d, int) for d in self.shape)
        encoding = ShapeAttr.get(dims_attr(self.shape)) if symbolic_dims else None
        return ir.RankedTensorType.get(sizes, element, encoding, loc=ir.Location.unknown())

    def storage_type(self) -> ir.Type:
        """The tensor type from level T on: no encoding, signless integers. Requires known rank and dtype."""
        if self.shape is None or self.dtype is None:
            raise DTypeError(f"{self} has no storage type: its rank or dtype is unknown")
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = [d if isinstance(d, int) else dynamic for d in self.shape]
        return ir.RankedTensorType.get(sizes, self.dtype.storage_type(), loc=ir.Location.unknown())

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else f'"{self.dtype}"'
        return f"Tensor({shape_text(self.shape)}, {dtype})"

    __repr__ = __str__


@dataclass(frozen=True, init=False)
class Shape(StructInfo):
    """A shape value. `values`: its dimensions (None: unknown), or None if the rank is unknown."""

    values: tuple[Dim | None, ...] | None

    def __init__(self, values: Sequence[DimLike] | None = None, *, ndim: int | None = None) -> None:
        _require_dims("Shape: 'values'", values)
        if values is None and ndim is not None:
            values = unknown_dims("Shape", ndim)
        object.__setattr__(self, "values", None if values is None else tuple(as_dim(v) for v in values))

    @property
    def ndim(self) -> int | None:
        """Number of dimensions, or None if unknown."""
        return None if self.values is None else len(self.values)

    def symbols(self) -> Iterator[str]:
        for dim in self.values or ():
            if dim is not None:
                yield from symbolic.symbols(dim)

    def to_type(self) -> ir.Type:
        return ShapeValueType.get(ir.UnitAttr.get() if self.values is None else dims_attr(self.values))

    def __str__(self) -> str:
        return "Shape()" if self.values is None else f"Shape({shape_text(self.values)})"

    __repr__ = __str__


@dataclass(frozen=True)
class Prim(StructInfo):
    """A symbolic integer as a value. `value`: its expression, or None if it is known only at run time."""

    dtype: str = "int64"
    value: DimLike = None

    def __post_init__(self) -> None:
        if self.dtype != "int64":
            raise DTypeError(f"Prim: dtype {self.dtype!r} is not supported; symbolic integers are int64")
        object.__setattr__(self, "value", as_dim(self.value))

    def symbols(self) -> Iterator[str]:
        if self.value is not None:
            yield from symbolic.symbols(as_dim(self.value) or 0)

    def to_type(self) -> ir.Type:
        return ir.IntegerType.get_signless(64)

    def __str__(self) -> str:
        return f'Prim("{self.dtype}")'


@dataclass(frozen=True)
class Tuple(StructInfo):
    """A tuple of values: ``Tuple([Tensor((4,), "float32"), Shape((2,))])``.

    Applied to values, ``Tuple([x, y])`` is the expression, as in TVM: a `relax_mlir.expr.Tuple`. ``Tuple()`` is the
    struct info of an empty tuple; the value is ``relax_mlir.expr.Tuple(())``.
    """

    fields: tuple[StructInfo, ...] = field(default=())

    def __new__(cls, fields: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - an expression, if it is of values
        """Raises `ArgumentError` for a mix of values and struct infos."""
        of_values = [_is_value(item) for item in fields] if isinstance(fields, list | tuple) else []
        if not any(of_values):
            return super().__new__(cls)
        if not all(of_values):
            item = fields[of_values.index(False)]
            raise ArgumentError(
                f"Tuple: 'fields' has values, and {item!r} ({type(item).__name__}); give values alone for a value "
                "(rx.PrimValue(3) is that of a number), struct infos alone for what is known of one"
            )
        return _tuple_of_values(fields)

    def __init__(self, fields: Sequence[StructInfo] = ()) -> None:
        object.__setattr__(self, "fields", _infos("Tuple: 'fields'", fields))

    def symbols(self) -> Iterator[str]:
        for info in self.fields:
            yield from info.symbols()

    def to_type(self) -> ir.Type:
        return ir.TupleType.get_tuple([info.to_type() for info in self.fields])

    def __str__(self) -> str:
        return f"Tuple([{', '.join(map(str, self.fields))}])"

    __repr__ = __str__


@dataclass(frozen=True)
class Object(StructInfo):
    """An opaque object."""

    def to_type(self) -> ir.Type:
        return ObjectType.get()

    def __str__(self) -> str:
        return "Object()"


@dataclass(frozen=True, init=False)
class Callable(StructInfo):
    """A function as a value. `params` and `result` are None if they are unknown.

    A symbol that is a dimension of a parameter belongs to the function: it may have another value in each call. Other
    symbols are those of the enclosing function.
    """

    params: tuple[StructInfo, ...] | None
    result: StructInfo | None
    pure: bool

    def __init__(
        self,
        params: Sequence[StructInfo] | None = None,
        result: StructInfo | None = None,
        pure: bool = False,
    ) -> None:
        if (params is None) != (result is None):
            raise ArgumentError("Callable: parameters and result are given together, or neither")
        known = None if params is None else _infos("Callable: 'params'", params)
        object.__setattr__(self, "params", known)
        expect("Callable: 'result'", result, StructInfo | None, "a struct info or None")
        object.__setattr__(self, "result", result)
        object.__setattr__(self, "pure", pure)

    def own_symbols(self) -> set[str]:
        """The symbols that the parameters define."""
        return {name for info in self.params or () for name in _bare_symbols(info)}

    def symbols(self) -> Iterator[str]:
        own = self.own_symbols()
        infos = [] if self.params is None or self.result is None else [*self.params, self.result]
        yield from (name for info in infos for name in info.symbols() if name not in own)

    def to_type(self) -> ir.Type:
        if self.params is None or self.result is None:
            return CallableType.get(ir.UnitAttr.get(), ir.UnitAttr.get(), ir.BoolAttr.get(self.pure))
        params = ir.ArrayAttr.get([ir.TypeAttr.get(info.to_type()) for info in self.params])
        return CallableType.get(params, ir.TypeAttr.get(self.result.to_type()), ir.BoolAttr.get(self.pure))

    def canonical(self) -> Callable:
        """The same type with its own symbols renamed in order."""
        if self.params is None or self.result is None:
            return self
        order = dict.fromkeys(name for info in self.params for name in _bare_symbols(info))
        mapping = {name: as_dim(f"callable_{number}") for number, name in enumerate(order)}
        infos = [substitute(info, mapping) for info in (*self.params, self.result)]
        return Callable(infos[:-1], infos[-1], self.pure)

    def __str__(self) -> str:
        pure = ", pure=True" if self.pure else ""
        if self.params is None:
            return f"Callable({pure.removeprefix(', ')})"
        return f"Callable([{', '.join(map(str, self.params))}], {self.result}{pure})"

    __repr__ = __str__


def _bare_symbols(info: StructInfo) -> Iterator[str]:
    """Symbols that are a whole dimension, or a whole entry of a shape."""
    if isinstance(info, Tuple):
        for item in info.fields:
            yield from _bare_symbols(item)
    dims = info.shape if isinstance(info, Tensor) else info.values if isinstance(info, Shape) else ()
    for dim in dims or ():
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None:
            yield name


_remembered: ContextVar[dict[ir.Type, StructInfo] | None] = ContextVar("_remembered", default=None)


@contextmanager
def remembered_types() -> Iterator[None]:
    """A context in which `struct_info` caches types, until the outermost one ends: types keep their MLIR context."""
    if _remembered.get() is not None:
        yield
        return
    token = _remembered.set({})
    try:
        yield
    finally:
        _remembered.reset(token)


def info_or_none(type_: ir.Type) -> StructInfo | None:
    """The struct info of a type; None for a type of MLIR's own."""
    try:
        return struct_info(type_)
    except RelaxError:
        return None


def struct_info(type_: ir.Type) -> StructInfo:
    """The struct info of an MLIR type; raises `VerifyError` for a type that no Relax value has."""
    known = _remembered.get()
    if known is None:
        return _read(type_)
    info = known.get(type_)
    if info is None:
        info = known[type_] = _read(type_)
    return info


def _read(type_: ir.Type) -> StructInfo:
    if isinstance(type_, ir.RankedTensorType):
        return _ranked_tensor(type_)
    if isinstance(type_, ir.UnrankedTensorType):
        return Tensor(None, _dtype(type_.element_type))
    if isinstance(type_, ShapeValueType):
        dims = type_.dims.maybe_downcast()
        return Shape(None) if isinstance(dims, ir.UnitAttr) else Shape(_dims(type_, dims))
    if isinstance(type_, ir.IntegerType) and type_.width == 64 and type_.is_signless:
        return Prim("int64")
    if isinstance(type_, ir.IndexType):
        return Prim("int64")
    if isinstance(type_, ir.TupleType):
        return Tuple([struct_info(type_.get_type(i)) for i in range(type_.num_types)])
    if isinstance(type_, ObjectType):
        return Object()
    if isinstance(type_, CallableType):
        return _callable(type_)
    raise VerifyError(f"type {type_} is not the type of a Relax value")


TYPE_INVARIANT = " [invariant 17]"
"""The end of messages on types that no value can have, with the invariant of `relax_mlir.analysis.well_formed`."""


def _invalid(type_: ir.Type, why: str | RelaxError) -> VerifyError:
    reason = str(why).splitlines()[0].removesuffix(TYPE_INVARIANT)
    return VerifyError(f"type {type_}: {reason}{TYPE_INVARIANT}")


def _dims(type_: ir.Type, attribute: ir.Attribute) -> tuple[Dim | None, ...]:
    """The dimensions in `type_`."""
    try:
        return dims_from_attr(attribute)
    except (ParseError, ShapeError, VerifyError) as error:
        raise _invalid(type_, error) from None


def _callable(type_: CallableType) -> Callable:
    inputs, result, pure = (item.maybe_downcast() for item in (type_.inputs, type_.result, type_.pure))
    if not isinstance(pure, ir.BoolAttr):
        raise _invalid(type_, f"its last parameter is {pure}, not true or false")
    if isinstance(inputs, ir.UnitAttr) and isinstance(result, ir.UnitAttr):
        return Callable(pure=pure.value)
    params = list(inputs) if isinstance(inputs, ir.ArrayAttr) else [inputs]
    if not all(isinstance(item, ir.TypeAttr) for item in [*params, result]):
        raise _invalid(type_, "its parameters are an array of types and its result is a type, or both are unit")
    try:
        *infos, returned = [struct_info(ir.TypeAttr(item).value) for item in [*params, result]]
    except RelaxError as error:
        raise _invalid(type_, error) from None
    return Callable(infos, returned, pure.value)


def _dtype(element: ir.Type) -> DType | None:
    return None if isinstance(element, AnyType) else dtypes.from_element_type(element)


def _ranked_tensor(type_: ir.RankedTensorType) -> Tensor:
    sizes = [None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
    encoding = type_.encoding
    if encoding is None:
        return Tensor(sizes, _dtype(type_.element_type))
    if not isinstance(encoding, ShapeAttr):
        raise _invalid(type_, "its encoding is a foreign one; Relax tensors carry #relax.shape")
    dims = _dims(type_, encoding.dims)
    if len(dims) != type_.rank:
        raise _invalid(type_, f"rank {type_.rank}, but its encoding has {len(dims)} dimensions")
    for axis, (size, dim) in enumerate(zip(sizes, dims, strict=True)):
        static = dim if isinstance(dim, int) else None
        if static != size:
            raise _invalid(
                type_,
                f"dimension {axis} is {dim_text(size)} in the type, but {dim_text(dim)} in its encoding",
            )
    try:
        return Tensor(dims, _dtype(type_.element_type))
    except (DTypeError, ShapeError) as error:
        raise _invalid(type_, error) from None


def substitute(info: StructInfo, mapping: dict[str, Any]) -> StructInfo:
    """`info` with symbols replaced by dimensions."""

    def dims(shape: tuple[Dim | None, ...] | None) -> list[DimLike] | None:
        if shape is None:
            return None
        return [None if d is None else symbolic.substitute(d, mapping) for d in shape]

    if isinstance(info, Tensor):
        return Tensor(dims(info.shape), info.dtype)
    if isinstance(info, Shape):
        return Shape(dims(info.values))
    if isinstance(info, Tuple):
        return Tuple([substitute(f, mapping) for f in info.fields])
    if isinstance(info, Callable) and info.params is not None and info.result is not None:
        own = info.own_symbols()
        outer = {name: dim for name, dim in mapping.items() if name not in own}
        return Callable([substitute(p, outer) for p in info.params], substitute(info.result, outer), info.pure)
    return info
