"""Mutations that put ops into regions, take them out, and insert new ones."""

from __future__ import annotations

import re
from random import Random

from generic_text import Block, Module, Op
from tree_queries import TERMINATORS, TUPLE, fresh, pick_op, rename_everywhere, visible
from vocabulary import SYMBOLS


def wrap_op(module: Module, rng: Random) -> bool:
    """Wrap the op in a dataflow block, a conditional, a loop, or a nested function."""
    picked = pick_op(module, rng, lambda op: op.name.startswith("relax.") and len(op.results) == 1)
    if picked is None:
        return False
    op, block = picked
    inner = fresh(module, op)
    name, type_ = op.results[0], op.result_types[0]
    place, value = block.ops.index(op), inner.results[0]
    prefix = f"%w{rng.randrange(10**6)}"

    def end(terminator: str, given: str = value) -> Op:
        return Op(terminator, operands=[given], operand_types=[type_])

    kind = rng.choice(("dataflow", "if", "for", "lambda"))
    if kind == "dataflow":
        new = [
            Op(
                "relax.dataflow",
                [name],
                regions=[[Block(ops=[inner, end("relax.output")])]],
                result_types=[type_],
            )
        ]
    elif kind == "if":
        flag = Op(
            "arith.constant",
            [prefix],
            properties={"value": rng.choice(("true", "false"))},
            result_types=["i1"],
        )
        twin = fresh(module, inner)
        branches = [
            [Block(ops=[inner, end("scf.yield")])],
            [Block(ops=[twin, end("scf.yield", twin.results[0])])],
        ]
        new = [
            flag,
            Op("scf.if", [name], [prefix], regions=branches, operand_types=["i1"], result_types=[type_]),
        ]
    elif kind == "for":
        init = [v for v, t in visible(module, op) if t == type_]
        if not init:
            return False
        bounds = [
            Op("relax.prim_value", [f"{prefix}{c}"], attributes={"value": f"{n} : i64"}, result_types=["i64"])
            for c, n in zip("abc", (0, rng.choice((0, 1, 3, -1)), rng.choice((1, 1, 2, 0, -1))), strict=True)
        ]
        body = Block(f"^w{prefix[2:]}", [(f"{prefix}i", "i64"), (f"{prefix}x", type_)], [inner, end("scf.yield")])
        operands = [f"{prefix}{c}" for c in "abc"] + [rng.choice(init)]
        loop = Op("scf.for", [name], operands, regions=[[body]])
        loop.operand_types, loop.result_types = ["i64"] * 3 + [type_], [type_]
        new = [*bounds, loop]
    else:
        kind_type = f"!relax.callable<[], {type_}, true>"
        made = Op("relax.lambda", [f"{prefix}f"], regions=[[Block(ops=[inner, end("relax.lambda_return")])]])
        made.attributes, made.result_types = {"names": "[]"}, [kind_type]
        empty = Op(TUPLE, [f"{prefix}t"], result_types=["tuple<>"])
        call = Op("relax.invoke_pure_closure", [name], [f"{prefix}f", f"{prefix}t"])
        call.operand_types, call.result_types = [kind_type, "tuple<>"], [type_]
        new = [made, empty, call]
    block.ops[place : place + 1] = new
    return True


def unwrap_op(module: Module, rng: Random) -> bool:
    """Replace an op by the ops of its region."""
    picked = pick_op(module, rng, lambda op: bool(op.regions))
    if picked is None:
        return False
    op, block = picked
    inner = [o for b in rng.choice(op.regions) for o in b.ops]
    given = inner.pop().operands if inner and inner[-1].name in TERMINATORS else []
    for name, value in zip(op.results, given, strict=False):
        rename_everywhere(module, name, value)
    place = block.ops.index(op)
    block.ops[place : place + 1] = inner
    return True


def insert_op(module: Module, rng: Random) -> bool:
    """A new op on visible values: packing, matching, effects, packed calls."""
    picked = pick_op(module, rng)
    values = visible(module, picked[0]) if picked else []
    if picked is None or not values:
        return False
    value, type_ = rng.choice(values)
    name = f"%n{rng.randrange(10**6)}"
    tuple_ = Op(TUPLE, [f"{name}t"], [value], operand_types=[type_], result_types=[f"tuple<{type_}>"])
    packed = [f"{name}t"], [f"tuple<{type_}>"]
    choice = rng.randrange(7)
    if choice == 0:
        back = Op(
            "relax.tuple_get_item",
            [name],
            packed[0],
            attributes={"index": f"{rng.choice((0, 0, 0, 1, -1))} : i64"},
        )
        back.operand_types, back.result_types = packed[1], [type_]
        new = [tuple_, back]
    elif choice == 1:
        dims = f'["{rng.choice(SYMBOLS)}"]'
        new = [
            Op(
                "relax.shape_expr",
                [name],
                attributes={"values": dims},
                result_types=[f"!relax.shape_value<{dims}>"],
            )
        ]
    elif choice == 2:
        function = rng.choice(("differential.copy", "differential.increment", "fuzz.fail", "fuzz.nothing", "missing"))
        call = Op(rng.choice(("relax.call_packed", "relax.call_pure_packed")), [name], packed[0])
        call.attributes = {
            "arg_spec": rng.choice(("[unit]", "[]", "[unit, unit]", '[unit, "x"]')),
            "func": f'"{function}"',
        }
        call.operand_types = packed[1]
        call.result_types = [rng.choice((type_, "!relax.object", "tensor<*x!relax.any>", "tuple<>"))]
        new = [tuple_, call]
    elif choice == 3:
        check = Op("relax.assert_op", operands=packed[0], operand_types=packed[1])
        check.attributes = {
            "message": '"m"',
            "relation": rng.choice(('"=="', '">"', '"="')),
            "values": '["n", 1 : i64]',
        }
        new = [tuple_, check]
    elif choice == 4:
        new = [
            Op(
                "relax.prim_value",
                [name],
                attributes={"value": f'"{rng.choice(SYMBOLS)}"'},
                result_types=["i64"],
            )
        ]
    elif choice == 5:
        shape = re.findall(r"#relax.shape<(\[.*?\])>", type_)
        match = Op("relax.match_shape", [name], [value], operand_types=[type_], result_types=[type_])
        match.attributes = {"pattern": shape[0] if shape else '["z"]', "result_dtype": None}
        new = [match]
    else:
        item = 'dense<"0x00">' if rng.random() < 0.1 else f"dense<{rng.choice(('0', '1', '-1', '127'))}>"
        new = [Op("relax.constant", [name], attributes={"value": f"{item} : {type_}"}, result_types=[type_])]
    place = picked[1].ops.index(picked[0])
    picked[1].ops[place:place] = new
    same = new[-1].results and new[-1].result_types == [type_]
    for use in (inner for follower in picked[1].ops[place + len(new) :] for inner, _ in follower.walk()):
        if same and rng.random() < 0.5:
            use.operands = [name if operand == value else operand for operand in use.operands]
    return True
