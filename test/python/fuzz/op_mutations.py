"""Mutations of ops and their operands, in modules as trees of text; each returns False if it cannot be applied."""

from __future__ import annotations

from random import Random

from generic_text import Module
from tree_queries import TERMINATORS, fresh, pick_op, rename_everywhere, visible
from vocabulary import FAMILIES


def other_operand(module: Module, rng: Random, same_type: bool = True) -> bool:
    """Replace an operand by another value, of the same type or not."""
    picked = pick_op(module, rng, lambda op: bool(op.operands))
    if picked is None:
        return False
    op = picked[0]
    index = rng.randrange(len(op.operands))
    wanted = op.operand_types[index] if index < len(op.operand_types) else ""
    values = [v for v in visible(module, op) if v[0] != op.operands[index] and (not same_type or v[1] == wanted)]
    if not values:
        return False
    op.operands[index], op.operand_types[index] = rng.choice(values)
    return True


def foreign_operand(module: Module, rng: Random) -> bool:
    """Replace an operand by a value of any type, without a change of the stated type."""
    return other_operand(module, rng, same_type=False)


def swap_operands(module: Module, rng: Random) -> bool:
    """Exchange two operands."""
    picked = pick_op(module, rng, lambda op: len(op.operands) > 1)
    if picked is None:
        return False
    op = picked[0]
    i, j = rng.sample(range(len(op.operands)), 2)
    op.operands[i], op.operands[j] = op.operands[j], op.operands[i]
    if max(i, j) < len(op.operand_types):
        op.operand_types[i], op.operand_types[j] = op.operand_types[j], op.operand_types[i]
    return True


def change_arity(module: Module, rng: Random) -> bool:
    """One operand more or less: of calls, tuples, yields, anything."""
    picked = pick_op(module, rng, lambda op: bool(op.operands))
    if picked is None:
        return False
    op = picked[0]
    index = rng.randrange(len(op.operands))
    if rng.random() < 0.5:
        del op.operands[index], op.operand_types[index : index + 1]
    else:
        value, type_ = rng.choice([(op.operands[index], op.operand_types[index]), *visible(module, op)])
        op.operands.insert(index, value)
        op.operand_types.insert(index, type_)
    return True


def other_yield(module: Module, rng: Random) -> bool:
    """Replace a yielded value by another one of its type."""
    picked = pick_op(module, rng, lambda op: op.name in TERMINATORS and bool(op.operands))
    if picked is None:
        return False
    op = picked[0]
    index = rng.randrange(len(op.operands))
    values = [v for v in visible(module, op) if v[1] == op.operand_types[index]]
    if len(values) < 2:
        return False
    op.operands[index] = rng.choice(values)[0]
    return True


def rename_op(module: Module, rng: Random) -> bool:
    """An op of the same signature in the place of another."""
    names = {name for family in FAMILIES for name in family}
    picked = pick_op(module, rng, lambda op: op.name in names)
    if picked is None:
        return False
    op = picked[0]
    op.name = rng.choice(rng.choice([f for f in FAMILIES if op.name in f]))
    return True


def foreign_op(module: Module, rng: Random) -> bool:
    """The name of any op in the place of another."""
    first, second = pick_op(module, rng), pick_op(module, rng)
    if first is None or second is None or first[0].name == second[0].name:
        return False
    first[0].name = second[0].name
    return True


def remove_op(module: Module, rng: Random) -> bool:
    """Remove an op; its results are replaced by other values of their types, if there are any."""
    picked = pick_op(module, rng, lambda op: op.name not in TERMINATORS)
    if picked is None:
        return False
    op, block = picked
    values = visible(module, op)
    for name, type_ in zip(op.results, op.result_types, strict=False):
        fitting = [v for v, t in values if t == type_]
        if fitting:
            rename_everywhere(module, name, rng.choice(fitting))
        elif rng.random() < 0.8:
            return False
    block.ops.remove(op)
    return True


def duplicate_op(module: Module, rng: Random) -> bool:
    """Duplicate an op; later ops use the results of the second one."""
    picked = pick_op(module, rng, lambda op: op.name not in TERMINATORS and bool(op.results))
    if picked is None:
        return False
    op, block = picked
    twin = fresh(module, op)
    later = block.ops[block.ops.index(op) + 1 :]
    block.ops.insert(block.ops.index(op) + 1, twin)
    for use in (inner for follower in later for inner, _ in follower.walk()):
        mapping = dict(zip(op.results, twin.results, strict=True))
        use.operands = [mapping.get(v, v) if rng.random() < 0.5 else v for v in use.operands]
    return True


def move_op(module: Module, rng: Random) -> bool:
    """The op at another place of its block."""
    picked = pick_op(module, rng, lambda op: op.name not in TERMINATORS)
    if picked is None or len(picked[1].ops) < 3:
        return False
    op, block = picked
    block.ops.remove(op)
    block.ops.insert(rng.randrange(len(block.ops)), op)
    return True


def transplant_op(module: Module, rng: Random) -> bool:
    """A copy of an op at the head of another block."""
    picked = pick_op(module, rng, lambda op: bool(op.results))
    blocks = [block for _, block in module.ops()]
    if picked is None:
        return False
    block = rng.choice(blocks)
    block.ops.insert(rng.randrange(len(block.ops) + 1), fresh(module, picked[0]))
    return True
