"""Philox 4x32-10 in Python's integers, after the paper of Salmon et al. (2011)."""

from __future__ import annotations

MASK = 0xFFFFFFFF


def philox(key: int, counter: int) -> list[int]:
    """The four words of a block."""
    words = [(counter % 2**128 >> 32 * number) & MASK for number in range(4)]
    keys = [key & MASK, key >> 32]
    for _ in range(10):
        first, second = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            (second >> 32) ^ words[1] ^ keys[0],
            second & MASK,
            (first >> 32) ^ words[3] ^ keys[1],
            first & MASK,
        ]
        keys = [(keys[0] + 0x9E3779B9) & MASK, (keys[1] + 0xBB67AE85) & MASK]
    return words
