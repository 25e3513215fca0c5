"""The mutations of modules, in two groups: those that mostly give valid modules, and the others."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from attribute_mutations import (
    change_callee,
    change_elements,
    change_flag,
    change_float,
    change_integer,
    change_list,
    change_type,
    change_word,
    foreign_attribute,
    replace_type,
)
from consistent_mutations import change_dim, change_element, change_symbol
from function_mutations import add_parameter, change_function, remove_function
from generic_text import Module
from nesting_mutations import insert_op, unwrap_op, wrap_op
from op_mutations import (
    change_arity,
    duplicate_op,
    foreign_op,
    foreign_operand,
    move_op,
    other_operand,
    other_yield,
    remove_op,
    rename_op,
    swap_operands,
    transplant_op,
)

Mutation = Callable[[Module, Random], bool]

VALID: tuple[Mutation, ...] = (
    *(other_operand, other_operand, swap_operands, other_yield, rename_op, rename_op, rename_op),
    *(remove_op, duplicate_op, move_op, wrap_op, wrap_op, unwrap_op, change_elements, change_elements),
    *(change_integer, change_float, change_flag),
    *(change_dim, change_dim, change_symbol, change_symbol, change_element),
)
"""Mutations whose results are mostly valid."""
HOSTILE: tuple[Mutation, ...] = (
    *(
        foreign_operand,
        change_arity,
        foreign_op,
        transplant_op,
        insert_op,
        insert_op,
        insert_op,
        change_integer,
    ),
    *(
        change_word,
        change_word,
        foreign_attribute,
        foreign_attribute,
        change_list,
        change_callee,
        change_type,
    ),
    *(change_type, replace_type, change_function, change_function, remove_function, add_parameter),
)
