"""`Function`: a Relax function as a view of its op, or built from expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.analysis.purity import is_pure
from relax_mlir.dialects.attributes import PRIM_FUNC, SIGNATURE
from relax_mlir.dialects.checked_types import CheckedType, checked_type
from relax_mlir.dialects.types import Callable, StructInfo, struct_info
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import RelaxError
from relax_mlir.expr.program import Program
from relax_mlir.expr.sequences import SeqExpr
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir

HEAD = ("sym_name", "function_type", "sym_visibility", "arg_attrs")


class Function(func.FuncOp):
    """A Relax function: ``mod["main"]``, or ``Function(params, body, ret_type)``.

    It is a ``func.func`` of the bindings. Its components are views, valid until the function is changed. A function
    that is built from expressions is in a separate module: `BlockBuilder.add_func` copies it into another one.
    """

    def __init__(
        self,
        params: Sequence[Var],
        body: Value,
        ret_struct_info: StructInfo | None = None,
        is_pure: bool | None = None,
        attrs: Mapping[str, Any] | None = None,
        *,
        name: str = "main",
    ) -> None:
        """Build a function.

        Args:
            params: the parameters: `Var`s with struct info.
            body: the result: a `SeqExpr`, or another expression.
            ret_struct_info: the struct info of the result; None: inferred from the body.
            is_pure: True: effects are an error; None: inferred from the body.
            attrs: attributes: bools, numbers, strings, and lists of these.
            name: the name by which recursive calls in `body` refer to the function.

        Raises:
            ArgumentError: `body` uses an unbound variable; also the errors of the builders of its ops.
            ShapeError: the result does not match `ret_struct_info`.
        """
        from relax_mlir.expr.from_parts import build_function

        module, op = build_function(name, params, body, ret_struct_info, is_pure, attrs)
        self._hold(op, module)

    def _hold(self, op: ir.Operation, keep: object) -> None:
        ir.OpView.__init__(self, op)
        vars(self)["relax_module"] = keep

    @classmethod
    def view(cls, op: func.FuncOp, keep: object) -> func.FuncOp:
        """`op` as a `Function` if it is a Relax function with a body, else `op` itself; `keep` owns it."""
        if not _has_parts(op):
            vars(op)["relax_module"] = keep
            return op
        found = cls.__new__(cls)
        found._hold(op.operation, keep)
        return found

    @property
    def program(self) -> Program:
        """The `Program` that creates the expressions of the function, until a pass changes it."""
        found = vars(self).get("relax_program")
        if found is None or not found.is_current():
            found = vars(self)["relax_program"] = Program(self)
        assert isinstance(found, Program)
        return found

    @property
    def params(self) -> list[Var]:
        """The parameters."""
        program = self.program
        return [program.variable(argument) for argument in entry_block(self).arguments]

    @property
    def body(self) -> SeqExpr:  # type: ignore[override]  # the bindings return the region: `regions[0]`
        """The blocks, and the value that the function returns."""
        return SeqExpr.of(entry_block(self), self.program)

    @property
    def ret_struct_info(self) -> StructInfo:
        """The struct info of the result."""
        return struct_info(self.type.results[0])

    ret_type = ret_struct_info

    @property
    def struct_info(self) -> Callable:
        """The struct info of the function: its parameters, result and purity."""
        params = [struct_info(type_) for type_ in self.type.inputs]
        return Callable(params, self.ret_struct_info, self.is_pure)

    @property
    def checked_type(self) -> CheckedType:
        """The types of parameters and result, without shapes."""
        return checked_type(self.struct_info)

    checked_type_ = checked_type

    @property
    def is_pure(self) -> bool:
        """True if the function has no effects."""
        return is_pure(self)

    @property
    def is_private(self) -> bool:
        """True if the function cannot be called from outside the module."""
        return "sym_visibility" in self.attributes

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes that are not part of the signature, as Python values."""
        from relax_mlir.expr.attrs import Attrs

        given = Attrs.of(self.operation).raw
        return Attrs({name: value for name, value in given.items() if name not in HEAD})


def _has_parts(op: func.FuncOp) -> bool:
    """True if `op` is a Relax function with a body, at a level where it returns one value."""
    if op.is_external or PRIM_FUNC in op.attributes or SIGNATURE in op.attributes:
        return False
    if len(op.regions[0].blocks) != 1 or len(op.type.results) != 1:
        return False
    try:
        for type_ in (*op.type.inputs, *op.type.results):
            struct_info(type_)
    except RelaxError:
        return False
    return True
