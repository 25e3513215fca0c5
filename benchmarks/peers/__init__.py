"""The peers. A new one is a subclass of `Peer` in a separate module, and an entry of `PEERS`."""

from __future__ import annotations

from benchmarks.peers.base import Bound, Peer
from benchmarks.peers.numpy_peer import NumpyPeer
from benchmarks.peers.onnxruntime_peer import OnnxRuntimePeer
from benchmarks.peers.openvino_peer import OpenVinoPeer
from benchmarks.peers.relax_peer import RelaxPeer
from benchmarks.peers.torch_peer import TorchPeer

PEERS: tuple[Peer, ...] = (RelaxPeer(), NumpyPeer(), TorchPeer(), OnnxRuntimePeer(), OpenVinoPeer())
OURS = PEERS[0].name

__all__ = ["OURS", "PEERS", "Bound", "Peer"]
