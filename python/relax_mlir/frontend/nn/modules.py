"""Layers of `relax_mlir.frontend.nn`, with the names, arguments and parameters of TVM's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

from relax_mlir import op as R
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import types as infos
from relax_mlir.dialects.types import DimLike
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.nn import op
from relax_mlir.frontend.nn.core import Effect, Module, ModuleList, Parameter, Tensor


class IOEffect(Effect):
    """The effect of `print_` and `debug_func`: an empty tuple, so that programs of TVM pass one on."""

    def __init__(self) -> None:
        self._state: Value | None = None

    @staticmethod
    @cache
    def instance() -> IOEffect:
        """The effect of ``export_tvm(debug=True)``."""
        return IOEffect()

    @property
    def is_active(self) -> bool:
        """True in a function that has the effect."""
        return self._state is not None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Value]:
        return [builder.emit(R.make_tuple(), "_io")]

    def create(self, name_hint: str) -> list[Var]:
        return [Var("_io", infos.Tuple([]))]

    def set_state(self, state_vars: Sequence[Value]) -> None:
        (self._state,) = state_vars

    def finalize(self) -> list[Value]:
        state, self._state = self._state, None
        assert state is not None
        return [state]


class ReLU(Module):
    """See `op.relu`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.relu(x)


class SiLU(Module):
    """See `op.silu`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.silu(x)


class GELU(Module):
    """See `op.gelu`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.gelu(x)


class Identity(Module):
    """Its argument."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Linear(Module):
    """``x @ weight.T + bias``, with the weight (out_features, in_features)."""

    def __init__(
        self,
        in_features: DimLike,
        out_features: DimLike,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:
        """`out_dtype`: of the result; None: that of the input."""
        self.in_features, self.out_features, self.out_dtype = in_features, out_features, out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), dtype if out_dtype is None else out_dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        x = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return x if self.bias is None else x + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the parameters; that of the bias stays `out_dtype` if there is one."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class Embedding(Module):
    """Rows of the weight (num, dim) by indices of any shape."""

    def __init__(self, num: DimLike, dim: DimLike, dtype: str | None = None) -> None:
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, [-1]), axis=0)
        return op.reshape(rows, [*x.shape, self.weight.shape[1]])


class _Convolution(Module):
    """The parameters of a convolution; `layout` is the default layout of the data."""

    layout: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str | None = None,
    ) -> None:
        """`data_layout`: of data and result, channels second or last; None: channels second."""
        what, rank = type(self).__name__, len(self.layout) - 2
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ArgumentError(f"{what}: '{name}' {channels} is not divisible by 'groups' {groups}")
        sizes = [kernel_size] * rank if isinstance(kernel_size, int) else list(kernel_size)
        if len(sizes) != rank:
            raise ArgumentError(f"{what}: 'kernel_size' has {len(sizes)} sizes, expected {rank}")
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.data_layout = data_layout or self.layout
        self.weight = Parameter(self._weight_shape(sizes), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def _weight_shape(self, sizes: Sequence[int]) -> list[int]:
        channels = self.in_channels // self.groups
        if self.data_layout == self.layout:
            return [self.out_channels, channels, *sizes]
        return [*sizes, channels, self.out_channels]

    def _attributes(self) -> dict[str, Any]:
        names = ("stride", "padding", "dilation", "groups", "data_layout")
        return {name: getattr(self, name) for name in names}


class Conv1D(_Convolution):
    """See `op.conv1d`; the weight is (out_channels, in_channels // groups, kernel_size)."""

    layout = "NCW"

    def forward(self, x: Tensor) -> Tensor:
        return op.conv1d(x, self.weight, self.bias, **self._attributes())


class Conv2D(_Convolution):
    """See `op.conv2d`; the weight is (out_channels, in_channels // groups, height, width)."""

    layout = "NCHW"

    def forward(self, x: Tensor) -> Tensor:
        return op.conv2d(x, self.weight, self.bias, **self._attributes())


class Conv3D(_Convolution):
    """See `op.conv3d`; the weight is (out_channels, in_channels // groups, depth, height, width)."""

    layout = "NCDHW"

    def forward(self, x: Tensor) -> Tensor:
        return op.conv3d(x, self.weight, self.bias, **self._attributes())


class ConvTranspose1D(_Convolution):
    """See `op.conv1d_transpose`; the weight is (in_channels, out_channels // groups, kernel_size)."""

    layout = "NCW"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.output_padding = output_padding
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype)

    def _weight_shape(self, sizes: Sequence[int]) -> list[int]:
        return [self.in_channels, self.out_channels // self.groups, *sizes]

    def forward(self, x: Tensor) -> Tensor:
        return op.conv1d_transpose(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.dilation,
            self.groups,
        )


class LayerNorm(Module):
    """See `op.layer_norm`; without `elementwise_affine` there are no parameters."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = Parameter(shape, dtype) if elementwise_affine else None
        self.bias = Parameter(shape, dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """See `op.rms_norm`; the weight has `hidden_size` elements."""

    def __init__(
        self,
        hidden_size: int,
        axes: int | Sequence[int] = -1,
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.axes, self.epsilon = axes, epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        out = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return out if self.bias is None else out + self.bias


class GroupNorm(Module):
    """See `op.group_norm`; the parameters have an element for each channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: Sequence[int] | None = None) -> Tensor:
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class Timesteps(Module):
    """See `op.get_timestep_embedding`."""

    def __init__(self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1) -> None:
        self.num_channels, self.flip_sin_to_cos = num_channels, flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        return op.get_timestep_embedding(x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift)


class TimestepEmbedding(Module):
    """Two linear layers around SiLU, for the embedding of time steps; `condition` is projected and added first."""

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:
        for name, act in (("act_fn", act_fn), ("post_act_fn", post_act_fn)):
            if act not in ("silu", None):
                raise ArgumentError(f"TimestepEmbedding: '{name}' is {act!r}, expected 'silu'")
        self.cond_proj = Linear(cond_proj_dim, in_channels, bias=False) if cond_proj_dim is not None else None
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.act = SiLU() if act_fn else None
        self.linear_2 = Linear(time_embed_dim, time_embed_dim if out_dim is None else out_dim)
        self.post_act = SiLU() if post_act_fn else None

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        if condition is not None:
            if self.cond_proj is None:
                raise ArgumentError("TimestepEmbedding: a 'condition' needs cond_proj_dim")
            sample = sample + self.cond_proj(condition)
        sample = self.linear_1(sample)
        sample = sample if self.act is None else self.act(sample)
        sample = self.linear_2(sample)
        return sample if self.post_act is None else self.post_act(sample)


class Attention(Module):
    """Attention of diffusers: projections of (batch, sequence, query_dim), attention of heads, a projection of it."""

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ) -> None:
        inner = dim_head * heads
        context = query_dim if cross_attention_dim is None else cross_attention_dim
        self.heads, self.dim_head = heads, dim_head
        self.scale = None if scale_qk else 1.0
        self.group_norm = GroupNorm(norm_num_groups, query_dim) if norm_num_groups is not None else None
        self.to_q = Linear(query_dim, inner, bias=bias)
        self.to_k = Linear(context, inner, bias=bias)
        self.to_v = Linear(context, inner, bias=bias)
        self.to_out = ModuleList([Linear(inner, query_dim, bias=out_bias)])

    def forward(
        self,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        context = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        q, k, v = self.to_q(hidden_states), self.to_k(context), self.to_v(context)
        q, k, v = (op.reshape(x, [*x.shape[:2], self.heads, self.dim_head]) for x in (q, k, v))
        out = op.scaled_dot_product_attention(q, k, v, attention_mask, scale=self.scale)
        return self.to_out[0](op.reshape(out, [*out.shape[:2], self.heads * self.dim_head]))  # type: ignore[no-any-return]  # a tensor
