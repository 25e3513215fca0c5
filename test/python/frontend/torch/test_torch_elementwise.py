"""Element-wise ops of PyTorch: values of every kind, promotion of dtypes, broadcasting, sizes 0 and 1."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.export import Dim
from torch_programs import Calls, check

NAN, INF = float("nan"), float("inf")
SIZES = ((0, 3), (1, 1), (1, 7), (5, 4), (2, 17))
MATRIX = ({0: Dim("n"), 1: Dim("m")},)
TWO = (*MATRIX, *MATRIX)
ROW = (*MATRIX, {1: Dim("m")})


def special(n: int, m: int) -> torch.Tensor:
    """Random numbers, NaN, infinities and zeros of both signs among them."""
    x = torch.randn(n, m) * 3
    if n * m > 6:
        x.view(-1)[:6] = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1e-30])
    return x


def integers(n: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers, and such that are not zero."""
    return torch.randint(-9, 9, (n, m)), torch.randint(1, 5, (n, m)) * (torch.randint(0, 2, (n, m)) * 2 - 1)


def test_functions_of_one_element() -> None:
    names = (
        "acos acosh asin asinh atan atanh cos cosh erf exp log rsqrt sigmoid sin sinh sqrt tan tanh ceil floor "
        "round trunc log2 log10 log1p neg abs sign square reciprocal exp2 expm1 frac deg2rad isnan isinf isfinite "
        "signbit logical_not"
    )
    module = Calls(*(getattr(torch, name) for name in names.split()))
    check(module, lambda n, m: (special(n, m),), SIZES, MATRIX, example=(3, 6))


def test_activations() -> None:
    module = Calls(
        *(
            F.relu,
            F.relu6,
            F.gelu,
            F.silu,
            F.mish,
            F.softplus,
            F.elu,
            F.selu,
            F.celu,
            F.leaky_relu,
            F.hardtanh,
        ),
        *(
            F.hardsigmoid,
            F.hardswish,
            F.logsigmoid,
            F.softsign,
            F.tanhshrink,
            F.softshrink,
            F.hardshrink,
            F.rrelu,
        ),
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: F.softplus(x, 2, 3),
        lambda x: F.celu(x, 2.0),
        lambda x: x.softmax(-1),
        lambda x: x.log_softmax(0),
        lambda x: F.threshold(x, 0.1, 20.0),
        lambda x: F.prelu(x, torch.tensor([0.3])),
        F.normalize,
    )
    check(module, lambda n, m: (torch.randn(n, m) * 3,), SIZES, MATRIX, example=(3, 6))


def test_two_floats() -> None:
    module = Calls(
        *(torch.add, torch.sub, torch.mul, torch.div, torch.floor_divide, torch.remainder, torch.fmod),
        *(torch.maximum, torch.minimum, torch.atan2, torch.logaddexp, torch.rsub, torch.isclose, torch.fmax),
        *(torch.fmin, torch.copysign, torch.hypot, torch.xlogy, torch.heaviside),
        *(torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge),
        lambda x, y: x.abs() ** y,
        lambda x, y: torch.add(x, y, alpha=2),
        lambda x, y: torch.sub(x, y, alpha=3),
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        lambda x, y: torch.lerp(x, y, 0.3),
        lambda x, y: torch.addcmul(x, x, y, value=0.5),
        lambda x, y: torch.addcdiv(x, x, y, value=0.5),
        lambda x, y: torch.where(x > y, x, 2.0),
        lambda x, y: x.masked_fill(x < y, 7.0),
        lambda x, y: x.clamp(-1, 1),
        lambda x, y: x.clamp(y, y + 1),
        lambda x, y: x.clamp_min(0.5),
        lambda x, y: x**2,
        lambda x, y: x**0.5,
        lambda x, y: x**-1,
        lambda x, y: 2**x,
        lambda x, y: x.nan_to_num(),
    )
    check(
        module,
        lambda n, m: (special(n, m), special(1, m)[0] + 0.1),
        SIZES,
        (*MATRIX, {0: Dim("m")}),
        example=(3, 6),
    )


def test_two_integers() -> None:
    module = Calls(
        *(torch.add, torch.sub, torch.mul, torch.div, torch.floor_divide, torch.remainder, torch.fmod),
        *(torch.maximum, torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor, torch.eq, torch.lt),
        torch.logical_xor,
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        lambda x, y: ~x,
        lambda x, y: x << (y.abs() % 5),
        lambda x, y: x >> (y.abs() % 5),
        lambda x, y: x.clamp(-2, 2),
        lambda x, y: torch.sign(x),
    )
    check(module, integers, SIZES, TWO, example=(3, 6))


def test_dtypes_are_promoted_as_torch_does() -> None:
    module = Calls(
        lambda x, y: x * 2.5,
        lambda x, y: x + True,
        lambda x, y: x / 2,
        lambda x, y: x // 3,
        lambda x, y: x % 3,
        lambda x, y: x.float().sin() + y,
        lambda x, y: x.exp(),
        lambda x, y: x.to(torch.int8) * y.to(torch.int8),
        lambda x, y: (x > y) | (x < 0),
        lambda x, y: (x > y) & y,
        lambda x, y: x.bool() * y.bool(),
        lambda x, y: x.bool() + y.bool(),
        lambda x, y: x.bool() < y.bool(),
        lambda x, y: x.to(torch.uint8) + 300,
        lambda x, y: x.to(torch.float16) + y.to(torch.bfloat16),
        lambda x, y: x.to(torch.float64) * 0.1,
        lambda x, y: x.to(torch.bfloat16) * 0.1,
    )
    check(module, integers, SIZES, TWO, example=(3, 6))
