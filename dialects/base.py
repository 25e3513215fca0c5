"""`RelaxOp`, the base of every op: one shape rule per class, and a verifier that re-runs it; checks of operands."""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin

from relax_mlir import symbolic
from relax_mlir.dialects.dialect import Relax, import_families
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered
from relax_mlir.dialects.types import (
    UNKNOWN,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    as_dim,
    dim_text,
    dims_attr,
    shape_text,
    struct_info,
)
from relax_mlir.dialects.types import Callable as CallableInfo
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

InfoT = TypeVar("InfoT", bound=StructInfo)
Inferred = StructInfo | Sequence[StructInfo]


def _hint(info: StructInfo, kind: type[StructInfo]) -> str:
    """A hint at how to convert the given value to the expected kind."""
    if kind is Tensor and isinstance(info, Prim):
        return "; op.prim_to_tensor makes one"
    if kind is Tensor and isinstance(info, Shape):
        return "; op.shape_to_tensor makes one"
    return "; op.shape_of gives it" if kind is Shape and isinstance(info, Tensor) else ""


@dataclass(frozen=True)
class OpArgs:
    """The input of a shape rule: the op's name, the struct infos of its operands, and its attributes."""

    op: str
    operand_names: Sequence[str]
    infos: Sequence[StructInfo]
    attrs: Mapping[str, ir.Attribute]

    def name_of(self, index: int) -> str:
        """Name of operand `index`."""
        return self.operand_names[index]

    def tensor(self, index: int) -> Tensor:
        """Operand `index`, which must be a tensor; else raises `ArgumentError`."""
        return self._expect(index, Tensor, "a tensor")

    def tensors(self) -> list[Tensor]:
        """All operands, which must be tensors."""
        return [self.tensor(i) for i in range(len(self.infos))]

    def shape(self, index: int) -> Shape:
        """Operand `index`, which must be a shape value; else raises `ArgumentError`."""
        return self._expect(index, Shape, "a shape value")

    def tuple(self, index: int) -> Tuple:
        """Operand `index`, which must be a tuple; else raises `ArgumentError`."""
        return self._expect(index, Tuple, "a tuple")

    def _expect(self, index: int, kind: type[InfoT], what: str) -> InfoT:
        info = self.infos[index]
        if not isinstance(info, kind):
            raise ArgumentError(
                f"{self.op}: operand '{self.name_of(index)}' is {info}, expected {what}{_hint(info, kind)}"
            )
        return info

    def require_dtype(self, index: int, allowed: Callable[[DType], bool], what: str) -> DType | None:
        """dtype of tensor operand `index` (None: unknown), which must satisfy `allowed` (named by `what`)."""
        dtype = self.tensor(index).dtype
        if dtype is not None and not allowed(dtype):
            raise DTypeError(f"{self.op}: operand '{self.name_of(index)}' has dtype {dtype}, expected {what}")
        return dtype

    def tuple_of_tensors(self, index: int) -> list[Tensor]:
        """Fields of tuple operand `index`, which must be tensors; else raises `ArgumentError`."""
        fields = []
        for number, info in enumerate(self.tuple(index).fields):
            if not isinstance(info, Tensor):
                where = f"{self.name_of(index)}[{number}]"
                hint = _hint(info, Tensor)
                raise ArgumentError(f"{self.op}: operand '{where}' is {info}, expected a tensor{hint}")
            fields.append(info)
        return fields

    def int_attr(self, name: str) -> int:
        return int(ir.IntegerAttr(self.attrs[name]).value)

    def ints_attr(self, name: str) -> list[int]:
        return [int(ir.IntegerAttr(item).value) for item in ir.ArrayAttr(self.attrs[name])]

    def float_attr(self, name: str) -> float:
        return float(ir.FloatAttr(self.attrs[name]).value)

    def bool_attr(self, name: str) -> bool:
        return bool(ir.BoolAttr(self.attrs[name]).value)

    def str_attr(self, name: str) -> str:
        return str(ir.StringAttr(self.attrs[name]).value)

    def is_unit(self, name: str) -> bool:
        """True if attribute `name` is ``unit``, the dialect's "not given" (IRDL has no optional attributes)."""
        return isinstance(self.attrs[name], ir.UnitAttr)


class Required:
    """The default of a parameter that has none."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a builder, which becomes an operand or an attribute of its op.

    Attributes:
        constraint: the field of the op, for the dialect DSL.
        convert: takes an argument and the text that names it in messages; returns an operand or an attribute.
        type: the type of an argument.
        text: that type as stubs and references write it.
        is_peer: true for an operand that shares its dtype with the other peers.
        default: the value of an argument that is not given, or `Required`.
    """

    constraint: Any
    convert: Callable[[Any, str], Any]
    type: Any
    text: str
    is_peer: bool = False
    default: Any = Required

    @staticmethod
    def of(annotation: Any) -> "Parameter | None":  # noqa: ANN401 - an annotation
        """The parameter that an annotation declares: a type of `relax_mlir.dialects.fields`, or that or None."""
        if get_origin(annotation) is Annotated:
            found = annotation.__metadata__[0]
            return found if isinstance(found, Parameter) else None
        first, *rest = get_args(annotation) or (None,)
        parameter = Parameter.of(first) if rest == [type(None)] else None
        return None if parameter is None else parameter._or_none()

    def _or_none(self) -> "Parameter":
        """The parameter that is ``unit`` for None."""

        def convert(value: Any, what: str) -> Any:  # noqa: ANN401 - an argument
            return ir.UnitAttr.get() if value is None else self.convert(value, what)

        return replace(
            self,
            constraint=self.constraint | ir.UnitAttr,
            convert=convert,
            type=self.type | None,
            text=f"{self.text} | None",
        )


class RelaxOp(Relax.Operation):
    """Base of the dialect's ops.

    A subclass lists its operands, attributes and results (in this order), and overrides `infer`, its shape rule. Ops
    whose result types the builder chooses (calls, `match_shape`) override `check` instead.

    If all operands and attributes are declared by `relax_mlir.dialects.fields`, possibly with defaults, the builder of
    the op is derived from the class (`relax_mlir.dialects.builders`). A subclass may assign other defaults to inherited
    fields.
    """

    op_pattern = OpPatternKind.OPAQUE
    """The fusion pattern of the op (`OpPatternKind`); not annotated, since an annotation would declare a field."""

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - those of the DSL
        known = {name: item for base in cls.__bases__ for name, item in _parameters.get(base, {}).items()}
        for name, annotation in list(cls.__annotations__.items()):
            if (parameter := Parameter.of(annotation)) is not None:
                known[name] = parameter
                cls.__annotations__[name] = parameter.constraint
        for name in known.keys() & vars(cls).keys():
            known[name] = replace(known[name], default=vars(cls)[name])
            delattr(cls, name)  # the DSL defines a property of this name
        _parameters[cls] = known
        super().__init_subclass__(**options)

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        """Change the arguments of the derived builder `what`, by name, before they become operands and attributes."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        """Struct infos of the results; raises `ShapeError`, `DTypeError` or `ArgumentError` for invalid operands."""
        raise ArgumentError(
            f"{cls.OPERATION_NAME}: its result types do not follow from its operands; call the op's own function"
        )

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        """Raise an error unless `results` follow from the operands: equal to the output of `infer`, or less precise."""
        inferred = as_sequence(cls.infer(args))
        if len(inferred) != len(results):
            raise ArgumentError(f"{args.op}: has {len(results)} results, expected {len(inferred)}")
        for index, (found, expected) in enumerate(zip(results, inferred, strict=True)):
            if not implies(expected, found):
                raise ShapeError(f"{args.op}: result {index} is {found}, but its operands give {expected}")

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        """Names of the attributes that hold dimensions or lists of them, whose symbols count like those of types."""
        return ()

    @classmethod
    def operand_names(cls) -> tuple[str, ...]:
        return ir_fields(cls)[0]

    @classmethod
    def args_of(cls, op: ir.Operation) -> OpArgs:
        attributes = {named.name: named.attr for named in _named_attributes(op)}
        infos = tuple(struct_info(operand.type) for operand in op.operands)
        return OpArgs(cls.OPERATION_NAME.removeprefix("relax."), cls.operand_names(), infos, attributes)

    @staticmethod
    def verify_invariants(op: Any) -> bool:  # noqa: ANN401 - called by the bindings with the op's own view
        """Verify the op; called by MLIR's verifier, so that errors carry the source location.

        The constraints of IRDL are checked after this, so attributes may be missing or of another kind here.
        """
        try:
            cls = type(op)
            args = cls.args_of(op.operation)
            cls.check_declared(args)
            cls.check_results(args, len(op.operation.results))
            with symbolic.assuming(bounds_around(op.operation)):
                cls.check(args, [struct_info(result.type) for result in op.operation.results])
        except (RelaxError, ValueError) as error:  # ValueError: an element of an array of another kind
            op.operation.location.emit_error(str(error))
            return False
        return True

    @classmethod
    def multiply_adds(cls, args: OpArgs) -> Dim | None:
        """The number of multiply-adds of a contraction, as torch's FLOP counter counts them.

        None if sizes are unknown.
        """
        return 0

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        """The equivalent call on data with permuted dimensions, or None if there is none.

        The data is operand 0, or all operands that broadcast; `order` has the rank of the data. Ops that do not commute
        with permutations (views, matrix products) return None.
        """
        if cls.op_pattern is OpPatternKind.ELEMWISE and len(args.infos) == 1 and isinstance(args.infos[0], Tensor):
            return Reordered((0,), (order,), {})
        return None

    @classmethod
    def check_declared(cls, args: OpArgs) -> None:
        """Raise `ArgumentError` unless the op has the attributes and the number of operands that it declares.

        Attributes must have the declared kinds, and integers must fit in 64 bits, whatever their type.
        """
        operands, attributes, *_ = ir_fields(cls)
        missing = [name for name in attributes if name not in args.attrs]
        if missing:
            raise ArgumentError(f"{args.op}: attribute '{missing[0]}' is missing")
        if len(args.infos) != len(operands):
            raise ArgumentError(f"{args.op}: has {len(args.infos)} operands, expected {len(operands)}")
        for name, kinds in _attribute_kinds(cls).items():
            if not isinstance(args.attrs[name], kinds):
                expected = " or ".join(_KIND_NAMES[kind] for kind in kinds if kind is not ir.BoolAttr)
                raise ArgumentError(
                    f"{args.op}: attribute '{name}' is {str(args.attrs[name])[:60]}, expected {expected}"
                )
        for name, attribute in args.attrs.items():
            if isinstance(attribute, ir.IntegerAttr) and not -(2**63) <= int(attribute.value) < 2**63:
                raise ArgumentError(
                    f"{args.op}: attribute '{name}' is {int(attribute.value)}, which does not fit 64 bits"
                )

    @classmethod
    def check_results(cls, args: OpArgs, count: int) -> None:
        """Raise `ArgumentError` unless the op has the declared number of results."""
        declared = len(ir_fields(cls)[2])
        if count != declared:
            raise ArgumentError(f"{args.op}: has {count} results, expected {declared}")


def _named_attributes(op: ir.Operation) -> list[ir.NamedAttribute]:
    attributes = op.attributes
    return [attributes[i] for i in range(len(attributes))]


_parameters: dict[type, dict[str, Parameter]] = {}


def parameters_of(cls: type[RelaxOp]) -> dict[str, Parameter] | None:
    """The parameters of the builder derived from an op class; None if some fields declare none."""
    operands, attributes, _, regions = ir_fields(cls)
    known = _parameters[cls]
    names = (*operands, *attributes)
    return {name: known[name] for name in names} if not regions and known.keys() >= set(names) else None


_Names: TypeAlias = tuple[str, ...]
_declared: dict[type[RelaxOp], tuple[_Names, _Names, _Names, _Names]] = {}


def ir_fields(cls: type[RelaxOp]) -> tuple[_Names, _Names, _Names, _Names]:
    """Names of the operands, attributes, results and regions of an op class, as declared."""
    if cls not in _declared:
        from relax_mlir.mlir import ext

        groups = ext.partition_fields(cls._fields)
        operands, attributes, results, regions = (tuple(f.name for f in group) for group in groups)
        _declared[cls] = operands, attributes, results, regions
    return _declared[cls]


_KIND_NAMES: dict[type[ir.Attribute], str] = {
    ir.ArrayAttr: "an array",
    ir.FlatSymbolRefAttr: "a symbol",
    ir.FloatAttr: "a float",
    ir.IntegerAttr: "an integer",
    ir.StringAttr: "a string",
    ir.TypeAttr: "a type",
    ir.UnitAttr: "unit",
}


_kinds: dict[type[RelaxOp], dict[str, tuple[type[ir.Attribute], ...]]] = {}


def _attribute_kinds(cls: type[RelaxOp]) -> dict[str, tuple[type[ir.Attribute], ...]]:
    """The kinds allowed for each attribute of an op class; attributes of any kind are absent."""
    if cls in _kinds:
        return _kinds[cls]
    from relax_mlir.mlir import ext

    kinds = {}
    for field in ext.partition_fields(cls._fields)[1]:
        if field.constraint is not Any:
            declared = get_args(field.constraint) or (field.constraint,)
            # ``true`` is an integer of one bit, for which the bindings have a class.
            booleans = (ir.BoolAttr,) if ir.IntegerAttr in declared else ()
            kinds[field.name] = (*declared, *booleans)
    _kinds[cls] = kinds  # other threads may look for it at any time
    return kinds


def as_sequence(inferred: Inferred) -> Sequence[StructInfo]:
    return [inferred] if isinstance(inferred, StructInfo) else inferred


def implies(known: StructInfo, claim: StructInfo) -> bool:
    """True if every value of struct info `known` also has `claim`: both are equal, or `claim` is less precise."""
    if isinstance(known, Tensor) and isinstance(claim, Tensor):
        if claim.dtype is not None and claim.dtype != known.dtype:
            return False
        return _dims_imply(known.shape, claim.shape)
    if isinstance(known, Shape) and isinstance(claim, Shape):
        return _dims_imply(known.values, claim.values)
    if isinstance(known, Tuple) and isinstance(claim, Tuple):
        return len(known.fields) == len(claim.fields) and all(map(implies, known.fields, claim.fields))
    if isinstance(known, CallableInfo) and isinstance(claim, CallableInfo):
        return _callable_implies(known.canonical(), claim.canonical())
    return type(known) is type(claim)


def _callable_implies(known: CallableInfo, claim: CallableInfo) -> bool:
    """The `implies` of function types in canonical form."""
    if claim.pure and not known.pure:
        return False
    if claim.params is None or claim.result is None:
        return True
    if known.params is None or known.result is None or len(known.params) != len(claim.params):
        return False
    accepts = all(implies(c, k) for k, c in zip(known.params, claim.params, strict=True))
    return accepts and implies(known.result, claim.result)


def _dims_imply(known: tuple[Dim | None, ...] | None, claim: tuple[Dim | None, ...] | None) -> bool:
    if claim is None:
        return True
    if known is None or len(known) != len(claim):
        return False
    return all(c is None or (k is not None and symbolic.prove_equal(k, c)) for k, c in zip(known, claim, strict=True))


def broadcast(op: str, *shapes: tuple[Dim | None, ...] | None) -> tuple[Dim | None, ...] | None:
    """The shape to which NumPy broadcasts `shapes`; None if one has an unknown rank.

    Two symbolic dimensions broadcast if they are provably equal or one is the constant 1. A `ShapeError` suggests
    `match_shape` if this is unknown (``n`` and ``m``), and reports the mismatch if they certainly differ (2 and 3). An
    unknown dimension gives an unknown one, unless the other is provably not 1, which it must equal then.
    """
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known), default=0)
    result: list[Dim | None] = []
    for axis in range(-rank, 0):
        dims = [shape[axis] for shape in known if len(shape) >= -axis]
        result.append(_broadcast_dim(op, axis, dims, known))
    return tuple(result)


def _broadcast_dim(
    op: str,
    axis: int,
    dims: Sequence[Dim | None],
    shapes: Sequence[tuple[Dim | None, ...]],
) -> Dim | None:
    others = [d for d in dims if d is None or d != 1]
    if not others:
        return 1
    known = [d for d in others if d is not None]
    for first, second in itertools.pairwise(known):
        if symbolic.prove_equal(first, second):
            continue
        where = f"{op}: shapes {' and '.join(map(shape_text, shapes))}, dimension {axis}"
        if symbolic.prove_not_equal(first, second) and isinstance(first, int) and isinstance(second, int):
            raise ShapeError(f"{where}: {first} and {second} do not broadcast")
        raise ShapeError(
            f"{where}: cannot tell whether {dim_text(first)} equals {dim_text(second)}; "
            "match_shape one of the tensors first"
        )
    if None in others and not (known and symbolic.prove_not_equal(known[0], 1)):
        return None
    return known[0]


def normalize_axis(op: str, axis: int, rank: int, what: str = "axis") -> int:
    """`axis` as a non-negative integer; raises `ShapeError` if it is out of range."""
    if not -rank <= axis < rank:
        raise ShapeError(f"{op}: {what} {axis} is out of range for a tensor of rank {rank}")
    return axis % rank


def normalize_axes(op: str, axes: Sequence[int], rank: int) -> list[int]:
    """`axes` as non-negative integers; raises `ShapeError` for an axis out of range or a duplicate."""
    normal = [normalize_axis(op, axis, rank) for axis in axes]
    if len(set(normal)) != len(normal):
        raise ShapeError(f"{op}: axes {list(axes)} name a dimension twice (rank {rank})")
    return normal


def op_classes() -> dict[str, type[RelaxOp]]:
    """The class of each op of the dialect, by the op's name."""
    return {cls.OPERATION_NAME: cls for cls in Relax.operations if issubclass(cls, RelaxOp)}


def op_class(op: ir.Operation) -> type[RelaxOp] | None:
    """The class of a Relax op, or None for an op of another dialect."""
    view = op.opview
    return type(view) if isinstance(view, RelaxOp) else None


def index_operand(args: OpArgs, index: int) -> Tensor:
    """Tensor operand `index`, which must hold integers."""
    args.require_dtype(index, lambda d: d.is_integer, "an integer")
    return args.tensor(index)


def check_equal(args: OpArgs, what: str, first: Dim | None, second: Dim | None) -> None:
    """Raise `ShapeError` unless two dimensions that are known are provably equal."""
    if first is None or second is None or symbolic.prove_equal(first, second):
        return
    hint = "" if symbolic.prove_not_equal(first, second) else ", not known to be equal; match_shape one first"
    raise ShapeError(f"{args.op}: {what} are {first} and {second}{hint}")


def check_equal_shapes(
    args: OpArgs, what: str, found: Sequence[Dim | None] | None, expected: Sequence[Dim | None]
) -> None:
    """Raise `ShapeError` unless the shape of operand `what`, if it is known, is provably `expected`."""
    if found is None:
        return
    if len(found) != len(expected):
        raise ShapeError(f"{args.op}: operand '{what}' has shape {shape_text(found)}, expected {shape_text(expected)}")
    for axis, (own, wanted) in enumerate(zip(found, expected, strict=True)):
        where = f"dimension {axis} of '{what}' and what is expected, {shape_text(expected)},"
        check_equal(args, where, own, wanted)


def require_same(args: OpArgs, index: int, wanted: tuple[Dim | None, ...] | None, of: str) -> None:
    """Raise `ShapeError` if operand `index` cannot have the shape `wanted`, the shape of `of`."""
    given = args.tensor(index).shape
    if given is None or wanted is None:
        return
    equal = len(given) == len(wanted) and all(
        a is None or b is None or symbolic.prove_equal(a, b) for a, b in zip(given, wanted, strict=True)
    )
    if not equal:
        raise ShapeError(
            f"{args.op}: operand '{args.name_of(index)}' has shape {shape_text(given)}, expected {shape_text(wanted)}, "
            f"that of {of}"
        )


def require_one_of(args: OpArgs, name: str, known: Sequence[str]) -> str:
    """Attribute `name`, which must be one of `known`; else raises `ArgumentError`."""
    value = args.str_attr(name)
    if value not in known:
        raise ArgumentError(f"{args.op}: {name} is '{value}', expected one of {', '.join(map(repr, known))}")
    return value


def floats_of(args: OpArgs, name: str) -> list[float] | None:
    """Attribute `name`, a list of floats; None if it is not given."""
    if args.is_unit(name):
        return None
    return [float(ir.FloatAttr(item).value) for item in ir.ArrayAttr(args.attrs[name])]


@functools.cache
def _dim_attribute_names() -> dict[str, tuple[str, ...]]:
    import_families()
    return {name: cls.dim_attributes() for name, cls in op_classes().items() if cls.dim_attributes()}


def dim_attribute_names(op: ir.Operation) -> tuple[str, ...]:
    """The names of the attributes of `op` that hold dimensions or lists of them, present or not."""
    return _dim_attribute_names().get(op.name, ())


def dim_attributes(op: ir.Operation) -> Iterator[tuple[str, list[Dim | None]]]:
    """Name and dimensions of each attribute of `op` that holds some; floats and ``unit`` are skipped."""
    for name in dim_attribute_names(op):
        if name in op.attributes:
            yield name, list(dims_in(op.attributes[name]))


def dims_in(attribute: ir.Attribute) -> Iterator[Dim | None]:
    """The dimensions that an attribute holds, in order."""
    if isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from dims_in(item)
    elif isinstance(attribute, ir.IntegerAttr):
        yield int(attribute.value)
    elif isinstance(attribute, ir.StringAttr):
        yield _dim(attribute.value)


def _dim(text: str) -> Dim | None:
    """A dimension, or a bound of a slice, which may be negative."""
    return as_dim(text) if text == UNKNOWN else symbolic.parse(text)


def substitute_attributes(op: ir.Operation, mapping: Mapping[str, Dim]) -> None:
    """Replace symbols in the attributes of `op` that hold dimensions."""
    for name in dim_attribute_names(op):
        if name in op.attributes:
            op.attributes[name] = _substituted(op.attributes[name], mapping)


def _substituted(attribute: ir.Attribute, mapping: Mapping[str, Dim]) -> ir.Attribute:
    if isinstance(attribute, ir.ArrayAttr):
        return ir.ArrayAttr.get([_substituted(item, mapping) for item in attribute])
    if isinstance(attribute, ir.StringAttr) and attribute.value != UNKNOWN:
        dim = symbolic.substitute(symbolic.parse(attribute.value), dict(mapping))
        changed: ir.Attribute = dims_attr([dim])[0]
        return changed
    return attribute
