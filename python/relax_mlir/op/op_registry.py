"""Ops by name: their shape rules, and users' ops with their attributes.

>>> from relax_mlir import op as R
>>> R.infer_rule("relax.add")(Tensor(("n", 4)), Tensor((4,)))
Tensor((n, 4), "float32")
>>> @R.register_op_attr("my.pad", "FInferShape")
... def pad(x, amount):
...     return (x.shape[0] + 2 * amount,)
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from relax_mlir.dialects import builders, dialect
from relax_mlir.dialects.base import RelaxOp, op_classes
from relax_mlir.dialects.calls import register_infer, rule_of, unregister_infer
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.symbols import building
from relax_mlir.dialects.traits import HasEffect, IsView, OpPatternKind, ops_with
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, UnknownNameError, UnsupportedError, expect
from relax_mlir.lazy import Hook
from relax_mlir.mlir import func, ir

# Ops of TVM's Relax that do not exist here, and their replacements.

ELSEWHERE = {
    "builtin.alloc_tensor": "memory.alloc_storage and memory.alloc_tensor make a tensor in explicit memory",
    "builtin.stop_lift_params": "it marks where a pass stops that is not here, so programs leave it out",
    "call_builtin_with_ctx": "the virtual machine gives its builtins, the ops R.vm.…, what they need",
    "call_inplace_packed": "the builder of this name makes a call_packed, which may change its arguments",
    "call_py_func": "the builder of this name makes a call_packed of the registered function",
    "call_tir_with_grad": "gradients of programs are not made here, and call_tir computes the same",
    "memory.ensure_zero_offset": "tensors begin where their memory does, so programs leave it out",
    "null_value": "an argument that is not given is None",
    "wrap_param": "constants and parameters are values as any other, so programs leave it out",
}
"""The advice for an op, by its name in TVM without ``relax.``."""


PREFIX = "relax."

RULES = ("FInferShape", "FInferType", "FInferStructInfo")
"""Keys of shape rules, which return the shape, the dtype, or both."""
PURITY = "FPurity"
PATTERN = "TOpPattern"
STRATEGY = "FTVMStrategy"
KEYS = (*RULES, PURITY, PATTERN, STRATEGY)

DEVICE_OPS = frozenset({"device_copy", "hint_on_device", "on_device", "to_vdevice"})
"""TVM's ops for devices."""

_strategy_of: Hook[[str], Any] = Hook("Op.strategy")
_register_strategy: Hook[[str, Any], None] = Hook("Op.register_strategy")

_given: dict[str, dict[str, tuple[int, Any]]] = {}
"""The attributes that users have registered, each with its level, by op and key."""


@dataclass(frozen=True)
class Op:
    """An op by name, as in a `Call`: one of Relax (``Op.get("relax.add")``), or a user's.

    A user's op is a packed function with a shape rule, registered by `register_op_attr` or `register_infer`. A call of
    it is a `call_pure_packed` if its attribute ``FPurity`` is True, else a `call_packed`.
    """

    name: str
    """The full name: ``relax.nn.relu``."""

    @staticmethod
    def get(name: str) -> Op:
        """The op called `name`, with or without ``relax.``.

        Raises:
            UnknownNameError: there is no such op. UnsupportedError: an op of TVM that does not exist here, such as
                those for devices; the message says what to do instead.
        """
        expect("Op.get: 'name'", name, str, "the name of an op")
        if written_name(name) in DEVICE_OPS:
            raise UnsupportedError(f"Op.get: '{name}' is about devices; there is one, the CPU: leave it out")
        if op_class_of(name) is not None:
            return Op(PREFIX + written_name(name))
        if (instead := ELSEWHERE.get(name.removeprefix(PREFIX))) is not None:
            raise UnsupportedError(f"Op.get: '{name}' is no op here: {instead}")
        if rule_of(name) is None and name not in _given:
            hint = "register_op_attr(name, 'FInferShape', rule) makes an op of a packed function"
            raise UnknownNameError("op", name, [PREFIX + item for item in _all_names()], hint)
        return Op(name)

    @property
    def is_builtin(self) -> bool:
        """True if it is an op of Relax, false for a user's op."""
        return op_class_of(self.name) is not None

    def get_attr(self, key: str) -> Any:  # noqa: ANN401 - a rule, or a bool
        """The attribute `key`; None if unset.

        Keys are ``FInferShape`` (also ``FInferType``, ``FInferStructInfo``), ``FPurity``, and for ops of Relax
        ``TOpPattern``, an `OpPatternKind`, and ``FTVMStrategy``, a function that returns the `OpStrategy` of a call.

        Raises:
            UnknownNameError: there is no attribute of this name.
        """
        _check_key(key)
        if not self.is_builtin:
            _, own = _given.get(self.name, {}).get(key, (0, None))
            return rule_of(self.name) if own is None and key in RULES else own
        if key in RULES:
            return infer_rule(self.name)
        if key == STRATEGY:
            return _strategy_of(self.name)
        if key == PATTERN:
            return pattern_of(self.name)
        return f"{PREFIX}{_ir_name(self.name)}" not in ops_with(HasEffect)

    def has_attr(self, key: str) -> bool:
        """True if the op has the attribute `key`."""
        return self.get_attr(key) is not None

    def __str__(self) -> str:
        return self.name


def register_op_attr(
    op_name: str,
    attr_key: str,
    value: Any = None,  # noqa: ANN401 - a rule, or a bool
    level: int = 10,
) -> Any:  # noqa: ANN401 - the value, or a decorator
    """Set an attribute of a user's op, which is the packed function `op_name`; also a decorator.

    Args:
        op_name: the registered name of the function.
        attr_key: ``FInferShape``: the shape rule, as for `register_infer`; it returns a `StructInfo`, or a shape, in
            which case ``FInferType`` returns the dtype. ``FInferType``: returns the name of a dtype, or a `StructInfo`.
            ``FInferStructInfo``: both in one. ``FPurity``: true if the function has no side effects. ``FTVMStrategy``,
            for ops of Relax: an additional strategy (`relax_mlir.strategy.register_strategy`).
        value: the rule or the bool; None returns a decorator.
        level: the value of the highest level is used; two values of one level are an error.

    Raises:
        ArgumentError: the op is one of Relax, whose rules are fixed; or it has the attribute already.
        UnknownNameError: there is no attribute `attr_key`.
    """
    expect("register_op_attr: 'op_name'", op_name, str, "the name of a packed function")
    _check_key(attr_key)
    if value is None:
        return lambda late: register_op_attr(op_name, attr_key, late, level)
    if op_class_of(op_name) is not None and attr_key == STRATEGY:
        _register_strategy(op_name, value)
        return value
    if op_class_of(op_name) is not None:
        raise ArgumentError(
            f"register_op_attr: '{op_name}' is an op of Relax, whose rules do not change; infer_rule('{op_name}') "
            "gives its shape rule"
        )
    if attr_key in (PATTERN, STRATEGY):
        raise ArgumentError(f"register_op_attr: {attr_key} is an attribute of ops of Relax, which '{op_name}' is not")
    if attr_key == PURITY:
        expect(f"register_op_attr: {PURITY} of '{op_name}'", value, bool, "True or False")
    elif not callable(value):
        raise ArgumentError(f"register_op_attr: {attr_key} of '{op_name}' is {value!r}, expected a function")
    attributes = _given.setdefault(op_name, {})
    before, _ = attributes.get(attr_key, (level - 1, None))
    if before == level:
        raise ArgumentError(
            f"register_op_attr: '{op_name}' has {attr_key} of level {level} already; level={level + 1} replaces it"
        )
    if before < level:
        attributes[attr_key] = level, value
    if attr_key in RULES:
        register_infer(op_name, functools.partial(_combined, op_name), override=True)
    return value


def unregister_op(op_name: str) -> None:
    """Remove the attributes of a user's op."""
    expect("unregister_op: 'op_name'", op_name, str, "the name of a packed function")
    _given.pop(op_name, None)
    unregister_infer(op_name)


def _combined(name: str, *args: Any) -> StructInfo:  # noqa: ANN401 - infos and literals
    """The combined result of the rules of a user's op."""
    rules = {key: rule for key, (_, rule) in _given[name].items()}
    if "FInferStructInfo" in rules:
        found: StructInfo = rules["FInferStructInfo"](*args)
        return found
    shape = rules["FInferShape"](*args) if "FInferShape" in rules else None
    if isinstance(shape, StructInfo):
        return shape
    dtype = rules["FInferType"](*args) if "FInferType" in rules else None
    if isinstance(dtype, StructInfo):
        if not isinstance(dtype, Tensor) or shape is None:
            return dtype
        dtype = dtype.dtype
    if dtype is None:
        raise DTypeError(
            f"FInferShape of '{name}' gives the shape {shape}, and nothing says the dtype: register FInferType, or "
            "give a Tensor"
        )
    return Tensor(shape, dtype)


def infer_rule(name: str) -> Callable[..., StructInfo]:
    """The shape rule of the op `name`, of Relax or a user's: ``rule(*infos, **attributes)`` returns the result's info.

    A rule of Relax takes a `StructInfo` per operand, the builder's other arguments, and raises the builder's errors;
    several results are a `Tuple`.

    Raises:
        UnknownNameError: there is no such op, or it has no rule.
        ArgumentError: a rule on infos alone cannot give its result.
    """
    op = Op.get(name)
    if not op.is_builtin:
        rule = rule_of(name)
        if rule is None:
            raise UnknownNameError("shape rule", name, [], "register_op_attr(name, 'FInferShape', rule) sets it")
        return rule
    builder = builder_of(name)
    if builder is None:
        raise ArgumentError(
            f"infer_rule: {op.name} has no rule on infos alone: its result is given, or follows from its body"
        )
    return functools.partial(_asked, op.name, builder)


def _asked(name: str, builder: Callable[..., Any], *operands: Any, **attributes: Any) -> StructInfo:  # noqa: ANN401
    """The result info of the builder's op, which is built in a temporary function."""
    infos = [item for item in _nested(operands) if isinstance(item, StructInfo)]
    with _context(), ir.Location.unknown(), located_at(f"infer_rule({name!r})", 0, 0):
        holder = func.FuncOp("rule", ir.FunctionType.get([i.to_type() for i in infos], []), ip=False)
        block = holder.add_entry_block()
        with ir.InsertionPoint(block), building(holder.operation):
            arguments = iter([Value(argument) for argument in block.arguments])
            made = builder(*(_values(item, arguments) for item in operands), **attributes)
            results = made if isinstance(made, list | tuple) else [made]
            found = [item.struct_info for item in results]
    return found[0] if len(found) == 1 else Tuple(found)


def _nested(items: Sequence[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list | tuple):
            yield from _nested(item)
        else:
            yield item


def _values(item: Any, arguments: Iterator[Value]) -> Any:  # noqa: ANN401 - an argument of a builder
    if isinstance(item, list | tuple):
        return [_values(inner, arguments) for inner in item]
    return next(arguments) if isinstance(item, StructInfo) else item


def _context() -> contextlib.AbstractContextManager[object]:
    """Enter a context of this module if there is none."""
    return _own_context() if ir.Context.current is None else contextlib.nullcontext()


@functools.cache
def _own_context() -> ir.Context:
    return dialect.context()


# -- names


def _ir_name(name: str) -> str:
    return name.removeprefix(PREFIX).replace(".", "_")


def op_class_of(name: str) -> type[RelaxOp] | None:
    """The class of an op of Relax, by name with or without ``relax.``, ``nn.relu`` or ``nn_relu``; else None."""
    dialect.import_families()
    return op_classes().get(PREFIX + _ir_name(name))


def written_name(name: str) -> str:
    """``nn.softmax`` for ``relax.nn_softmax``."""
    return builders.written_name(_ir_name(name))


def builder_of(name: str) -> Callable[..., Any] | None:
    """The function of `relax_mlir.op` that builds the op `name`; None for an op without one."""
    from relax_mlir import op

    found: Any = op
    for part in written_name(name).split("."):
        found = getattr(found, part, None) if isinstance(found, ModuleType) else None
    return found if callable(found) else None


def function_named(name: str) -> Callable[..., Any] | None:
    """The function of `relax_mlir.op` called `name`; None if there is none."""
    from relax_mlir import op

    found = getattr(op, name, None)
    return found if callable(found) else None


def _all_names() -> list[str]:
    dialect.import_families()
    return [written_name(name) for name in op_classes()]


def pattern_of(name: str) -> OpPatternKind:
    """The fusion pattern of an op of Relax; for views, the order of elements does not change."""
    found = op_class_of(name)
    assert found is not None
    return OpPatternKind.INJECTIVE if found.OPERATION_NAME in ops_with(IsView) else found.op_pattern


def _check_key(key: str) -> None:
    expect("the attribute of an op", key, str, "its name")
    if key not in KEYS:
        raise UnknownNameError("attribute of an op", key, KEYS)


__all__ = ["Op", "infer_rule", "register_op_attr", "unregister_op"]
