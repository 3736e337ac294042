"""The headline of integration errors: the rule that needs the fewest steps."""

from __future__ import annotations

from dataclasses import replace

from explainlab.analyses.integration.headline import headline

from explainlab import load_model, study


def test_the_rule_with_the_fewest_steps_is_told() -> None:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    result = study(classifier, "integration_error", "A warm and funny film.", steps=[10, 200])

    def told(**fields: object) -> str:
        return headline(replace(result, body={**result.body, **fields}))

    ideal = {"right": 200, "left": None, "gauss_legendre": 10}
    assert told(cancels=False, ideal_steps=ideal).startswith("10 steps are enough for an error of 5% or less: Gauss")
    assert told(cancels=False, ideal_steps={"right": 1}).startswith("1 step is enough")
    assert told(cancels=False, ideal_steps={"right": None}) == "No step count of the list brings the error down to 5%."
    assert "hardly changes" in told(cancels=True)
