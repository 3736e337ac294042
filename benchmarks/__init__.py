"""Benchmarks: costs as ratios to the bare model passes and to other libraries, all measured in the same run."""

from benchmarks.runner import run_bench

__all__ = ["run_bench"]
