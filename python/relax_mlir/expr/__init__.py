"""The expressions and bindings of a function as Python objects, with TVM's class names.

Functions of a module (``mod["main"]``) are `Function`s. Their components are views of the IR: ``func.params``,
``func.body.blocks``, ``block.bindings``, ``binding.var``, ``binding.value``. The same classes build new expressions,
and ``Function(params, body, ret_type)`` builds a function from them. In a `BlockBuilder`, new expressions are values:
`bb.emit` takes them.

Constants, shapes and unnamed tuples are nested in the expressions that use them, as in the script. All other ops are
bindings. `Tuple` is the expression; ``rx.Tuple`` builds one from values, or a tuple struct info from struct infos.
"""

from relax_mlir.dialects.closures import ExternFunc
from relax_mlir.dialects.nodes import Constant, Node, PrimValue, ShapeExpr, Tuple, TupleGetItem
from relax_mlir.dialects.value import (
    CheckedType,
    DynTensorType,
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TupleType,
    Value,
    Var,
)
from relax_mlir.expr.bindings import Attrs, Binding, DataflowVar, MatchCast, MatchShape, VarBinding
from relax_mlir.expr.compound import (
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    If,
    LocalFunction,
    Loop,
    SeqExpr,
)
from relax_mlir.ir_module import GlobalVar
from relax_mlir.op.op_registry import Op

Expr = Value
"""Any expression."""

__all__ = [
    "Attrs", "Binding", "BindingBlock", "Call", "CheckedType", "Constant", "DataflowBlock", "DataflowVar",
    "DynTensorType", "Expr", "ExternFunc", "FuncType", "Function", "GlobalVar", "If", "LocalFunction",
    "Loop", "MatchCast", "MatchShape", "Node", "ObjectType", "Op", "PrimType", "PrimValue", "SeqExpr",
    "ShapeExpr", "ShapeType", "Tuple", "TupleGetItem", "TupleType", "Var", "VarBinding",
]  # fmt: skip
