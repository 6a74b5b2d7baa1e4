"""Runs a graph without torch source on ONNX Runtime's CPU."""

from core.edge.workers.ort_webgpu import run

__all__ = ["run"]
