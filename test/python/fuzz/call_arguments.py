"""Arguments of calls, as Python expressions on `draws`: valid ones for a function's parameters, and hostile ones."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple
from vocabulary import SIZES

MAX_ELEMENTS = 60_000
LAYOUTS = ("frozen", "unaligned", "strided", "backwards", "columns")
HUGE = (2**31, 2**32, 2**40, 2**62, 2**63 - 1, -1, -5, -(2**31), -(2**63), 2**64, 10**30)
OTHER_VALUES = (
    *(
        "None",
        "3",
        "-1",
        "2**63",
        "2.5",
        "True",
        "'text'",
        "()",
        "[]",
        "object()",
        "b'x'",
        "float('nan')",
        "1j",
    ),
    *(
        "np.zeros((0,))",
        "np.float32(2)",
        "np.zeros((2, 2), object)",
        "np.zeros((2,), 'M8[s]')",
        "np.zeros((1,) * 32)",
    ),
    *(
        "tvm_ffi.Shape((2, 3))",
        "tvm_ffi.Shape((-1, 3))",
        "(np.zeros(2), 3)",
        "np.array(['a'])",
        "{}",
        "lambda x: x",
    ),
    *(
        "np.zeros((3,), 'c8')",
        "np.zeros((3,), '>f4')",
        "np.full((5,), 7, 'u1').view(bool)",
        "np.zeros((2, 0, 3), 'f4')",
    ),
)


class NoArgumentsError(Exception):
    """No arguments can be generated for such parameters."""


@dataclass(frozen=True)
class Call:
    """A call of `function` with arguments as expressions; hostile ones may be refused."""

    function: str
    arguments: tuple[str, ...]
    hostile: bool = False


def calls_of(name: str, infos: list[StructInfo], rng: Random, count: int = 4) -> list[Call]:
    """Some valid calls, then some hostile ones."""
    found: list[Call] = []
    for number in range(count):
        try:
            fitting = _fitting(infos, rng)
        except NoArgumentsError:
            fitting = [_of_unknown(rng) for _ in infos] if infos else []
            return [*found, Call(name, tuple(fitting), True)]
        if number < count // 2:
            found.append(Call(name, tuple(fitting)))
        else:
            found.append(Call(name, _hostile(fitting, infos, rng), True))
    return found


def _fitting(infos: list[StructInfo], rng: Random) -> list[str]:
    symbols: dict[str, int] = {}
    size = rng.choice((None, None, *SIZES))
    for info in infos:
        for name in info.symbols():
            symbols.setdefault(name, rng.choice(SIZES) if size is None else size)
    made = [_argument(info, symbols, rng) for info in infos]
    if len(made) > 1 and rng.random() < 0.15:  # one array for two parameters
        pairs = [(i, j) for i in range(len(infos)) for j in range(i) if infos[i] == infos[j]]
        if pairs:
            i, j = rng.choice(pairs)
            made[i] = f"same({j})"
    return made


def _argument(info: StructInfo, symbols: dict[str, int], rng: Random) -> str:
    if isinstance(info, Tensor):
        dtype = rng.choice(("float32", "int64", "bool")) if info.dtype is None else info.dtype.name
        dims = (None,) * rng.randint(0, 3) if info.shape is None else info.shape
        text = f"draw({rng.randrange(1000)}, {_sizes(dims, symbols, rng, MAX_ELEMENTS)}, '{dtype}')"
        return f"{rng.choice(LAYOUTS)}({text})" if rng.random() < 0.25 else text
    if isinstance(info, Shape):
        dims = (None,) * rng.randint(0, 3) if info.values is None else info.values
        return f"tvm_ffi.Shape({_sizes(dims, symbols, rng)})"
    if isinstance(info, Prim):
        return str(rng.choice((0, 1, 2, 3, 5)))
    if isinstance(info, Tuple):
        items = [_argument(item, symbols, rng) for item in info.fields]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(info, Object):
        return rng.choice((f"draw({rng.randrange(1000)}, (3,), 'float32')", "3", "'text'"))
    raise NoArgumentsError(str(info))


def _sizes(dims: Any, symbols: dict[str, int], rng: Random, most: int | None = None) -> tuple[int, ...]:
    found, total = [], 1
    for dim in dims:
        try:
            size = rng.choice(SIZES) if dim is None else symbolic.substitute(dim, symbols)
        except ArithmeticError:
            raise NoArgumentsError(str(dim)) from None
        if not isinstance(size, int) or size < 0:
            raise NoArgumentsError(str(dim))
        total *= max(size, 1)
        found.append(size)
    if most is not None and total > most:
        raise NoArgumentsError("too many elements")
    return tuple(found)


def _of_unknown(rng: Random) -> str:
    return rng.choice(OTHER_VALUES)


def _hostile(fitting: list[str], infos: list[StructInfo], rng: Random) -> tuple[str, ...]:
    """One or two of the arguments changed, left out, or given too often."""
    made = list(fitting)
    for _ in range(rng.randint(1, 2)):
        action = rng.randrange(7)
        index = rng.randrange(len(made)) if made else 0
        if action == 0 or not made:
            made.insert(index, rng.choice([*made, _of_unknown(rng)]))
        elif action == 1:
            del made[index]
        elif action == 2:
            made[index] = _of_unknown(rng)
        elif action == 3 and index < len(infos):
            made[index] = _wrong(made[index], infos[index], rng)
        elif action == 4:
            i, j = rng.randrange(len(made)), rng.randrange(len(made))
            made[i], made[j] = made[j], made[i]
        else:  # results given by the caller: fitting ones, an input, a part of one
            like = rng.choice((f"same({index})", f"np.empty_like(same({index}))", f"same({index})[...]"))
            made.append(like)
    return tuple(made)


def _wrong(text: str, info: StructInfo, rng: Random) -> str:
    """An argument of the right kind whose sizes, dtype or rank differ from the parameter's."""
    if isinstance(info, Shape):
        count = 2 if info.values is None else len(info.values)
        sizes = [rng.choice((*HUGE, *SIZES)) for _ in range(max(count + rng.choice((0, 0, 0, 1)), 0))]
        return f"tvm_ffi.Shape({tuple(sizes)})"
    if isinstance(info, Prim):
        return str(rng.choice(HUGE))
    if isinstance(info, Tensor):
        rank = 2 if info.shape is None else len(info.shape)
        sizes = tuple(rng.choice(SIZES) for _ in range(max(rank + rng.choice((0, 0, 0, -1, 1)), 0)))
        dtype = "float32" if info.dtype is None else info.dtype.name
        chosen = rng.choice((dtype, dtype, "float32", "float64", "int32", "bool", "uint8", "bfloat16"))
        return f"draw({rng.randrange(1000)}, {sizes}, '{chosen}')"
    return text
