"""Passes of a user, written as docs/writing-passes.md teaches, and an op."""

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir import op as R
from relax_mlir.rewrite import ExprMutator
from relax_mlir.transform import FunctionPass, function_pass


class FuseMultiplyAdd(ExprMutator):
    def visit_add(self, binding):
        left, right = binding.operands
        product = self.definition(left)
        if product is not None and product.op == "multiply":
            return R.ewise_fma(*product.operands, right)


@function_pass(name="fuse-multiply-add")
def fuse_multiply_add(function, mod, ctx):
    """Replace x * y + z by one op."""
    FuseMultiplyAdd().visit(function)
    return function


@R.register_op_attr("plugin.activation", "FInferShape")
def same_shape(x):
    return x


class UseActivation(ExprMutator):
    def visit_exp(self, binding):
        return R.call_pure_packed("plugin.activation", *binding.operands)


@function_pass(name="use-activation")
def use_activation(function, mod, ctx):
    """Replace exp by the op of this file."""
    UseActivation().visit(function)
    return function


@dataclass(frozen=True)
class ChangeExp(FunctionPass):
    """Replace exp, or fail."""

    name: ClassVar[str] = "change-exp"
    to: str = "relu"

    def run_on_function(self, function, module, ctx):
        class Change(ExprMutator):
            def visit_exp(_, binding):
                return {"relu": R.nn.relu, "tanh": R.tanh}[self.to](*binding.operands)

        Change().visit(function)
