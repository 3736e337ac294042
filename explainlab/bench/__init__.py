"""Benchmarks: costs as ratios to the bare model passes and to other libraries, all measured in the same run."""

from explainlab.bench.runner import run_bench

__all__ = ["run_bench"]
