"""Mutations of functions: names, attributes, parameters."""

from __future__ import annotations

from random import Random

from generic_text import Block, Module, split_list
from vocabulary import FUNCTION_ATTRIBUTES, TYPES


def change_function(module: Module, rng: Random) -> bool:
    """An attribute of the compiler's, another name or visibility, on a function."""
    if not module.functions:
        return False
    function = rng.choice(module.functions)
    choice = rng.randrange(4)
    if choice == 0:
        names = (
            '"main"',
            '"f.shapes"',
            '"relax.x"',
            '"__x"',
            '""',
            '"a b"',
            '"é"',
            '"malloc"',
            '"memcpy"',
            '"printf"',
        )
        function.properties["sym_name"] = rng.choice(names)
    elif choice == 1:
        if function.properties.pop("sym_visibility", None) is None:
            function.properties["sym_visibility"] = '"private"'
    else:
        name, value = rng.choice(FUNCTION_ATTRIBUTES)
        function.attributes[name] = value
    return True


def remove_function(module: Module, rng: Random) -> bool:
    """A function less, or one of them without a body."""
    if len(module.functions) < 2:
        return False
    function = rng.choice(module.functions)
    if rng.random() < 0.3:
        function.regions = [[Block()]]
        function.properties["sym_visibility"] = '"private"'
    else:
        module.top.regions[0][0].ops.remove(function)
    return True


def add_parameter(module: Module, rng: Random) -> bool:
    """A parameter more or less."""
    found = [f for f in module.functions if f.regions and f.regions[0] and f.regions[0][0].label]
    if not found:
        return False
    function = rng.choice(found)
    block = function.regions[0][0]
    types = str(function.properties.get("function_type", ""))
    function.properties.pop("arg_attrs", None)
    inputs, arrow, result = types.partition(") -> ")
    listed = split_list(inputs[1:])
    if not arrow or len(listed) != len(block.arguments):
        return False
    if rng.random() < 0.7:
        type_ = rng.choice([*listed, *TYPES]) if listed else rng.choice(TYPES)
        block.arguments.append((f"%p{rng.randrange(10**6)}", type_))
        listed.append(type_)
    elif listed:
        block.arguments.pop()
        listed.pop()
    function.properties["function_type"] = f"({', '.join(listed)}{arrow}{result}"
    return True
