"""The computations of paper 003's code where the paper says otherwise, for comparison only."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.attribution.method import Outcome
from explainlab.attribution.methods.paths import IntegratedGradients
from explainlab.attribution.path import Path, evaluate, nodes, read_ends
from explainlab.attribution.subject import Subject

TOLD = (
    "As the paper's code computes, for comparison only: integrated gradients weight every gradient by its place α on "
    "the path, so that what is nearer to the text counts more, and do not add up to the change of the output. Of a "
    "linear model they are (n + 1) / 2n of what they should be."
)

CUT = "Faithfulness is cut to [-1, 1] seed by seed, as the paper's code does."


class AlphaWeighted(IntegratedGradients):
    """φᵢ = Σ_d (xᵢ - x′ᵢ) · 1/n Σₖ αₖ ∂F(x′ + αₖ(x - x′))/∂xᵢ: differentiated by x itself, through αₖ x."""

    def attribute_many(self, subjects: Sequence[Subject], parameters: IntegratedGradients.Parameters) -> list[Outcome]:
        """See :meth:`Method.attribute_many`."""
        assert parameters.rule != "adaptive"  # which the study's parameters refuse
        paths = [Path(subject, subject.baseline(parameters.baseline)) for subject in subjects]
        alphas, weights = nodes(parameters.rule, parameters.steps)
        read_ends(paths)
        evaluate(paths, [alphas] * len(paths))
        return [Outcome(path.subject.units.sum_tokens((weights * alphas) @ path.slopes(alphas))) for path in paths]
