"""Mutations of MLIR text, seeded: those of a careless editor, a broken generator or a bad disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

TOKEN = re.compile(r'"[^"\n]*"|[%@!#^][\w.$-]+|[A-Za-z_][\w.$]*|\d+(?:\.\d+)?|->|::|\s+|.', re.DOTALL)
TYPES = (
    *("f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "ui8", "index", "none", "i9999", "!relax.any"),
    *("tensor<4xf32>", "tensor<?x?xf32>", "tensor<*xf32>", "tensor<f32>", "tensor<0xi64>", "tensor<-1xf32>"),
    *('tensor<?x4xf32, #relax.shape<["n", 4]>>', 'tensor<?xf32, #relax.shape<["n", "n"]>>', "tuple<>"),
    *('!relax.shape_value<["n"]>', "!relax.object", "memref<?xf32>", "vector<4xf32>", "(f32) -> f32"),
    *('tensor<?xf32, #relax.shape<["n+"]>>', "tuple<tensor<4xf32>, i32>", "tensor<4x!relax.any>"),
)
VALUES = (
    *("0", "-1", "1", "?", "9223372036854775807", "9223372036854775808", "1.0e400", "true", "unit"),
    *('""', '"n"', '"n*m"', "[]", "{}", "[0, 0]", "dense<0.0> : tensor<4xf32>", "array<i64: 1, -1>"),
    *("@main", "@missing", "f32", "#relax.shape<[]>", "0 : index", "-1 : i64", "dense<> : tensor<0xi64>"),
)
SPECIAL_BYTES = (b"\x00", b"\xff", b"\xfe\xff", b"\xc3\x28", b"\r", b"\x1b[0m", "\u221e".encode())

Mutation = Callable[[list[str], Random], None]


def tokens(text: str) -> list[str]:
    """The text split into tokens, which are the text again when joined."""
    return TOKEN.findall(text)


def mutate(text: str, others: Sequence[str], random: Random) -> bytes:
    """One to three mutations of `text`; `others` are texts to take pieces from."""
    parts = tokens(text)
    for _ in range(random.randint(1, 3)):
        random.choice(MUTATIONS)(parts, random)
    if random.random() < 0.1 and others:
        splice(parts, random.choice(others), random)
    data = "".join(parts).encode()
    return corrupt(data, random) if random.random() < 0.08 else data


def _pick(parts: list[str], random: Random, pattern: str) -> int | None:
    """The index of some token that matches."""
    found = [i for i, part in enumerate(parts) if re.fullmatch(pattern, part)]
    return random.choice(found) if found else None


def delete_tokens(parts: list[str], random: Random) -> None:
    start = random.randrange(len(parts))
    del parts[start : start + random.randint(1, 6)]
    if not parts:
        parts.append(" ")


def duplicate_tokens(parts: list[str], random: Random) -> None:
    start = random.randrange(len(parts))
    piece = parts[start : start + random.randint(1, 12)]
    parts[start:start] = piece


def swap_tokens(parts: list[str], random: Random) -> None:
    left, right = random.randrange(len(parts)), random.randrange(len(parts))
    parts[left], parts[right] = parts[right], parts[left]


def change_type(parts: list[str], random: Random) -> None:
    index = _pick(parts, random, r"f32|f64|f16|bf16|u?i\d+|index|none|!relax\.\w+")
    if index is not None:
        parts[index] = random.choice(TYPES)


def change_number(parts: list[str], random: Random) -> None:
    index = _pick(parts, random, r"\d+(?:\.\d+)?|\?")
    if index is not None:
        parts[index] = random.choice(VALUES[:8])


def change_attribute(parts: list[str], random: Random) -> None:
    """Give some ``name = value`` another value."""
    equals = [i for i, part in enumerate(parts) if part == "=" and i + 2 < len(parts)]
    if equals:
        parts[random.choice(equals) + 2] = random.choice(VALUES)


def change_string(parts: list[str], random: Random) -> None:
    index = _pick(parts, random, r'"[^"]*"')
    if index is not None:
        strings = [part for part in parts if part.startswith('"')]
        parts[index] = random.choice([*strings, '""', '"n"', '"m + "', '"n//0"', '"(" ', '"1" * 9'])


def permute_operands(parts: list[str], random: Random) -> None:
    """Exchange two uses of values, or make one use another value."""
    values = [i for i, part in enumerate(parts) if part.startswith("%")]
    if len(values) >= 2:
        left, right = random.sample(values, 2)
        parts[left], parts[right] = parts[right], parts[left] if random.random() < 0.5 else parts[right]


def change_operation(parts: list[str], random: Random) -> None:
    """Put another op's name in the place of an op's name."""
    names = [i for i, part in enumerate(parts) if re.fullmatch(r'"?[a-z_]+\.[a-z_.]+"?', part)]
    if len(names) >= 2:
        left, right = random.sample(names, 2)
        parts[left] = parts[right]


def change_lines(parts: list[str], random: Random) -> None:
    """Delete, repeat or exchange whole lines."""
    lines = "".join(parts).split("\n")
    left, right = random.randrange(len(lines)), random.randrange(len(lines))
    action = random.randrange(3)
    if action == 0:
        del lines[left]
    elif action == 1:
        lines.insert(right, lines[left])
    else:
        lines[left], lines[right] = lines[right], lines[left]
    parts[:] = tokens("\n".join(lines)) or [" "]


def truncate(parts: list[str], random: Random) -> None:
    del parts[random.randint(1, len(parts)) :]


MUTATIONS: tuple[Mutation, ...] = (
    *(delete_tokens, duplicate_tokens, swap_tokens, change_type, change_type, change_number),
    *(change_attribute, change_attribute, change_string, permute_operands, permute_operands),
    *(change_operation, change_lines, truncate),
)


def splice(parts: list[str], other: str, random: Random) -> None:
    """Insert some lines of another text."""
    lines = other.split("\n")
    start = random.randrange(len(lines))
    place = random.randrange(len(parts) + 1)
    parts.insert(place, "\n".join(lines[start : start + random.randint(1, 5)]))


def corrupt(data: bytes, random: Random) -> bytes:
    """Overwrite a place with bytes that do not belong there."""
    place = random.randrange(len(data) + 1)
    junk = random.choice([*SPECIAL_BYTES, random.randbytes(random.randint(1, 8))])
    return data[:place] + junk + data[place + random.choice([0, len(junk)]) :]
