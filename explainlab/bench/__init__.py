"""What things cost, as ratios in one run: against the bare model passes they need, and against named rivals."""

from explainlab.bench.runner import run_bench

__all__ = ["run_bench"]
