"""Mutations of attributes and types."""

from __future__ import annotations

import re
from random import Random

from generic_text import Module, split_list
from tree_queries import map_texts, pick_op, visible
from vocabulary import ATTRIBUTES, FLOATS, HOSTILE_SYMBOLS, INTEGERS, SYMBOLS, TYPES


def _pick_attribute(module: Module, rng: Random, pattern: str) -> tuple[dict[str, str | None], str, str] | None:
    """A table, name and value of an attribute that matches."""
    found = [
        (table, name, value)
        for op, _ in module.ops()
        if op.name != "func.func"
        for table in op.attribute_tables()
        for name, value in table.items()
        if value is not None and re.search(pattern, value, re.DOTALL)
    ]
    return rng.choice(found) if found else None


def change_integer(module: Module, rng: Random) -> bool:
    """Another integer in an attribute."""
    picked = _pick_attribute(module, rng, r"(?<![\w.\"])-?\d+(?= : i\d+|[,\]])")
    if picked is None or picked[2].startswith("dense"):
        return False
    table, name, value = picked
    numbers = list(re.finditer(r"(?<![\w.\"])-?\d+(?![\w.])(?= : i\d+|[,\]])", value))
    if not numbers:
        return False
    number = rng.choice(numbers)
    table[name] = value[: number.start()] + rng.choice(INTEGERS) + value[number.end() :]
    return True


def change_float(module: Module, rng: Random) -> bool:
    """Another float in an attribute."""
    picked = _pick_attribute(module, rng, r"^-?\d\.\d+e[+-]\d+ : f\d+$")
    if picked is None:
        return False
    table, name, value = picked
    table[name] = f"{rng.choice(FLOATS)} : {value.rpartition(' : ')[2]}"
    return True


def change_elements(module: Module, rng: Random) -> bool:
    """Other elements of a constant."""
    picked = _pick_attribute(module, rng, r"^dense<")
    if picked is None:
        return False
    table, name, value = picked
    type_ = value.rpartition("> : ")[2]
    if re.search(r"x?i1>", type_):
        elements: tuple[str, ...] = ("true", "false", "2", "-1")
    elif re.search(r"[<x]b?f\d+[>,]", type_):
        elements = ("0.0", "-1.0", "1.0e+30", "1.0e-40", "0x7F800000", "0x7FC00000", "-0.0", "1.0e400", "1")
    else:
        elements = (
            "0",
            "1",
            "-1",
            "127",
            "-128",
            "255",
            "2147483647",
            "-9223372036854775808",
            "18446744073709551615",
        )
    if rng.random() < 0.5:
        table[name] = f"dense<{rng.choice(elements)}> : {type_}"
        return True
    numbers = list(re.finditer(r"(?<=[\[<, ])(?:-?\d[\w.+-]*|true|false)(?=[,\]>])", value))
    if not numbers:
        return False
    number = rng.choice(numbers)
    table[name] = value[: number.start()] + rng.choice(elements) + value[number.end() :]
    return True


def change_flag(module: Module, rng: Random) -> bool:
    """true replaced by false, and vice versa."""
    picked = _pick_attribute(module, rng, r"^(true|false)$")
    if picked is None:
        return False
    picked[0][picked[1]] = "false" if picked[2] == "true" else "true"
    return True


def change_word(module: Module, rng: Random) -> bool:
    """Another string in an attribute: one from another attribute, an expression, or none."""
    picked = _pick_attribute(module, rng, r'"')
    if picked is None or picked[2].startswith("dense"):
        return False
    table, name, value = picked
    strings = list(re.finditer(r'"[^"]*"', value))
    others = [
        s
        for op, _ in module.ops()
        for t in op.attribute_tables()
        for v in t.values()
        for s in re.findall(r'"[^"]*"', v or "")
    ]
    others += [f'"{s}"' for s in rng.sample(SYMBOLS + HOSTILE_SYMBOLS, 4)]
    chosen = rng.choice(strings)
    table[name] = value[: chosen.start()] + rng.choice(others) + value[chosen.end() :]
    return True


def foreign_attribute(module: Module, rng: Random) -> bool:
    """A value of another kind for an attribute, or none at all, or one more."""
    picked = pick_op(module, rng, lambda op: bool(op.attributes or op.properties))
    if picked is None:
        return False
    table = rng.choice(picked[0].attribute_tables())
    name = rng.choice(list(table))
    chance = rng.random()
    if chance < 0.15:
        del table[name]
    elif chance < 0.25:
        picked[0].attributes[rng.choice(("relax.x", "axis", "callee", "operandSegmentSizes"))] = rng.choice(ATTRIBUTES)
    else:
        table[name] = rng.choice(ATTRIBUTES)
    return True


def change_list(module: Module, rng: Random) -> bool:
    """An item more, less, twice, or in another place of a list in an attribute."""
    picked = _pick_attribute(module, rng, r"^\[.*\]$")
    if picked is None:
        return False
    table, name, value = picked
    items = split_list(value[1:-1])
    action = rng.randrange(3)
    if action == 0 and items:
        del items[rng.randrange(len(items))]
    elif action == 1:
        items.insert(rng.randrange(len(items) + 1), rng.choice([*items, "0 : i64", "unit", '"n"', "[]"]))
    else:
        rng.shuffle(items)
    table[name] = f"[{', '.join(items)}]"
    return True


def change_callee(module: Module, rng: Random) -> bool:
    """Another function, or none, in the place of one that is called."""
    picked = _pick_attribute(module, rng, r"^@")
    if picked is None:
        return False
    names = [f"@{str(f.properties.get('sym_name', '')).strip(chr(34))}" for f in module.functions]
    picked[0][picked[1]] = rng.choice([*names, *names, "@missing"])
    return True


def change_type(module: Module, rng: Random) -> bool:
    """Another type at one position: of an operand, a result, an argument."""
    picked = pick_op(module, rng, lambda op: bool(op.result_types))
    if picked is None:
        return False
    op = picked[0]
    index = rng.randrange(len(op.result_types))
    old, new = op.result_types[index], rng.choice([*TYPES, *(t for _, t in visible(module, op))])
    op.result_types[index] = new
    if rng.random() < 0.8 and index < len(op.results):  # its uses agree
        for use, _ in module.ops():
            use.operand_types = [
                new if v == op.results[index] and t == old else t
                for v, t in zip(use.operands, use.operand_types, strict=False)
            ]
    return True


def replace_type(module: Module, rng: Random) -> bool:
    """One type replaced by another everywhere in a function."""
    function = rng.choice(module.functions) if module.functions else None
    types = sorted({t for op, _ in function.walk() for t in op.result_types}) if function else []
    if function is None or not types:
        return False
    old, new = rng.choice(types), rng.choice(TYPES)
    map_texts(function, lambda text: text.replace(old, new))
    return True
