"""Code generators of a user, and some that are wrong."""

from relax_mlir import op as R
from relax_mlir.dialects.closures import ExternFunc
from relax_mlir.transform import register_codegen


@register_codegen("mine")
def two_ops(region):
    return region.each(lambda call: R.nn.relu(R.exp(call.args[0])))


@register_codegen("named")
def name(region):
    return "my.packed"


@register_codegen("extern")
def extern_function(region):
    return ExternFunc("my.extern")


@register_codegen("scaling")
def scale(region):
    def rule(call):
        computed, factor = map(call.argument_of, call.bindings[-1].operands)
        assert computed is None
        return R.multiply(call.args[0], factor)

    return region.each(rule)


@register_codegen("refusing")
def refuse(region):
    def rule(call):
        raise call.refuse("no reason")

    return region.each(rule)


@register_codegen("giving_none")
def give_none(region):
    return region.each(lambda call: None)


@register_codegen("narrowing")
def narrow(region):
    return region.each(lambda call: R.sum(call.args[0]))


@register_codegen("no_value")
def give_number(region):
    return 3


@register_codegen("with_effects")
def print_first(region):
    R.print(region.params[0], format="{}")
    return region.each(lambda call: call.args[0])
