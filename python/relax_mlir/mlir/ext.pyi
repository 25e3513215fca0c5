"""Types of the DSL in which dialects are written, as far as it is in use. Kept by hand."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from typing_extensions import Self

from relax_mlir.mlir import ir

Operand = ir.Value
Result = ir.OpResult
Region = ir.Region

class Trait(Protocol):
    """What stands in the list of an op's traits: a class that attaches itself to the op of a name."""

    @staticmethod
    def attach(op_name: str, /) -> Any: ...

class FieldDef:
    """A field of an op class: an operand, an attribute, a result or a region."""

    name: str
    constraint: Any

class ParamDef:
    """A parameter of a type or of an attribute."""

    name: str
    constraint: Any

class Operation(ir.OpView):
    _fields: ClassVar[list[FieldDef]]
    _traits: ClassVar[list[type[Trait]]]
    Adaptor: ClassVar[type[Any]]

    @classmethod
    def _attach_traits(cls) -> None: ...
    def __init_subclass__(
        cls, *, name: str | None = ..., traits: Sequence[type[Trait]] | None = ..., **kwargs: Any
    ) -> None: ...
    # The DSL makes the constructor from the annotations: operands and attributes as they are, results by their types.
    def __init__(
        self, *args: Any, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ..., **kwargs: Any
    ) -> None: ...

class Type(ir.DynamicType):
    type_name: ClassVar[str]
    _fields: ClassVar[list[ParamDef]]

    def __init_subclass__(cls, *, name: str | None = ..., **kwargs: Any) -> None: ...
    @classmethod
    def get(  # type: ignore[override]  # without the name, which the class has
        cls, *args: ir.Attribute | ir.Type, context: ir.Context | None = ...
    ) -> Self: ...

class Attribute(ir.DynamicAttr):
    attr_name: ClassVar[str]
    _fields: ClassVar[list[ParamDef]]

    def __init_subclass__(cls, *, name: str | None = ..., **kwargs: Any) -> None: ...
    @classmethod
    def get(  # type: ignore[override]  # without the name, which the class has
        cls, *args: ir.Attribute | ir.Type, context: ir.Context | None = ...
    ) -> Self: ...

_Type = Type
_Attribute = Attribute

class Dialect(ir.Dialect):
    DIALECT_NAMESPACE: ClassVar[str]
    operations: ClassVar[list[type[Operation]]]
    types: ClassVar[list[type[_Type]]]
    attributes: ClassVar[list[type[_Attribute]]]

    class Operation(Operation): ...
    class Type(Type): ...
    class Attribute(Attribute): ...

    def __init_subclass__(cls, *, name: str, **kwargs: Any) -> None: ...
    @classmethod
    def _emit_module(cls) -> ir.Module: ...
    @classmethod
    def load(cls) -> None: ...

class Pure:
    """Always speculatable operation that does not touch memory."""

    @staticmethod
    def attach(op_name: str) -> None: ...

def partition_fields(
    fields: list[FieldDef],
) -> tuple[list[FieldDef], list[FieldDef], list[FieldDef], list[FieldDef]]: ...

_cext: Any
