"""Specifications of metrics, and the facts that a metric declares."""

from __future__ import annotations

import pytest

from explainlab.declared import specs
from explainlab.errors import RequestError
from explainlab.metrics.presets import PRESETS
from explainlab.metrics.registry import get_metric, metric_ids, metrics, parse_metric
from tests.failures import check_each
from tests.metrics.conftest import WITH_PRESETS

_OF_THESIS = ["ours", "thesis"]
RATIONALE = {
    "ground_truth_overlap": _OF_THESIS,
    "mean_rank": _OF_THESIS,
    "mean_rank_percentage": _OF_THESIS,
    "token_f1": [],
    "token_iou": [],
    "iou_f1": [],
    "auprc": [],
}
STABILITY = {"max_sensitivity": False, "infidelity": False, "edit_stability": True}
ALL = [f"{metric}:preset={preset}" for metric in WITH_PRESETS for preset in PRESETS]


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("comprehensiveness", {"preset": "rpi", "k": 20, "removal": "delete"}),
        ("comprehensiveness:k=10:removal=mask", {"preset": "rpi", "k": 10, "removal": "mask"}),
        ("sufficiency:preset=thesis", {"preset": "thesis", "k": 20, "removal": "mask"}),
        ("sufficiency:preset=thesis:removal=delete", {"preset": "thesis", "k": 20, "removal": "delete"}),
        ("log_odds", {"preset": "rpi", "k": 20}),
        (
            "aopc_sufficiency",
            {"preset": "rpi", "bins": (1, 5, 10, 20, 50), "divisor": "bins", "removal": "delete"},
        ),
        (
            " aopc_sufficiency : bins = 1+5+10 ",
            {"preset": "rpi", "bins": (1, 5, 10), "divisor": "bins", "removal": "delete"},
        ),
        (
            "aopc_comprehensiveness:preset=alti",
            {"preset": "alti", "bins": (0, 1, 5, 10, 20, 50), "divisor": "bins", "removal": "delete"},
        ),
        ("activation_auc", {"baseline": "mask"}),
        ("inverse_activation_auc: baseline = pad", {"baseline": "pad"}),
        ("ground_truth_overlap", {"preset": "ours", "exact": False, "ranking": "signed"}),
        ("mean_rank:preset=thesis:ranking=absolute", {"preset": "thesis", "ranking": "absolute"}),
        ("iou_f1:k=10:threshold=0.25", {"k": 10, "threshold": 0.25, "ranking": "signed"}),
        ("auprc:area=trapezoid", {"area": "trapezoid", "ranking": "signed"}),
        ("max_sensitivity:radius=0.05", {"radius": "0.05", "samples": 10}),
        ("infidelity:scale=false", {"samples": 100, "scale": False}),
        ("edit_stability:edits=typo+case", {"edits": ("typo", "case"), "samples": 5}),
    ],
)
def test_options_make_a_complete_request(text: str, parameters: dict) -> None:
    found = parse_metric(text)
    assert found.metric == text.split(":")[0].strip()
    assert found.parameters.model_dump() == parameters
    assert parse_metric(found.name) == found
    assert hash(parse_metric(found.name)) == hash(found)


def test_the_sentence_of_a_metric_says_which_way_is_better() -> None:
    def check(metric: str) -> None:
        better = ("higher", "more") if get_metric(metric).higher_is_better else ("lower", "less")
        assert get_metric(metric).plain.endswith(tuple(f"{word} is better." for word in better))

    check_each(check, metrics())


def test_a_name_states_its_preset_and_reads_back() -> None:
    def check(name: str) -> None:
        found = parse_metric(name)
        assert found.name == name
        assert PRESETS[found.parameters.preset].label in found.label
        assert "=" not in found.label
        assert found.higher_is_better == get_metric(found.metric).higher_is_better

    check_each(check, ALL)


def test_a_metric_without_presets_is_named_by_its_own_options() -> None:
    usual, padded = parse_metric("activation_auc:baseline=mask"), parse_metric("activation_auc:baseline=pad")
    assert (usual.name, usual.label, usual.preset) == ("activation_auc", "Activation AUC", "")
    assert (padded.name, padded.label) == ("activation_auc:baseline=pad", "Activation AUC (baseline pad)")
    assert "the pad token" in padded.definition
    assert "highest" in usual.definition
    assert "lowest" in parse_metric("inverse_activation_auc").definition


def test_what_differs_from_the_preset_is_named() -> None:
    found = parse_metric("aopc_comprehensiveness:bins=5+20:divisor=bins:removal=mask")
    assert found.name == "aopc_comprehensiveness:preset=rpi:bins=5+20:removal=mask"
    assert found.label == "AOPC comprehensiveness (RPI, bins 5+20, removal mask)"
    assert parse_metric("sufficiency:preset=thesis:removal=mask").name == "sufficiency:preset=thesis"


WRONG = {
    "comprehensivness": "Did you mean comprehensiveness",
    "": "no metric ''",
    ":k=10": "no metric ''",
    "sufficiency:k=101": "k = '101' is not accepted",
    "sufficiency:k=-1": "k = '-1' is not accepted",
    "sufficiency:k=2.5": "k = '2.5' is not accepted",
    "sufficiency:k=": "'k=' is not an option",
    "sufficiency:k": "'k' is not an option",
    "sufficiency:": "'' is not an option",
    "sufficiency:=3": "'=3' is not an option",
    "sufficiency:k=1:k=2": "k twice",
    "sufficiency:bins=1": "no parameter 'bins'",
    "log_odds:removal=mask": "no parameter 'removal'",
    "sufficiency:preset=RPI": "preset = 'RPI' is not accepted",
    "sufficiency:removal=pad": "removal = 'pad' is not accepted",
    "aopc_sufficiency:bins=10+5": "rising order",
    "aopc_sufficiency:bins=5+5": "rising order",
    "aopc_sufficiency:bins=1,5": "bins.0 = '1,5' is not accepted",
    "aopc_sufficiency:bins=1+500": "bins.1 = '500' is not accepted",
    "aopc_sufficiency:bins=+": "bins.0 = '' is not accepted",
    "activation_auc:preset=rpi": "no parameter 'preset'",
    "activation_auc:baseline=zero": "'mask', 'pad' or 'unk'",
    "token_f1:k=0": "k = '0' is not accepted",
    "iou_f1:threshold=0": "threshold = '0' is not accepted",
    "mean_rank:preset=rpi": "'ours' or 'thesis'",
    "auprc:k=20": "no parameter 'k'",
    "max_sensitivity:radius=-1s": "radius = '-1s' is not accepted",
    "max_sensitivity:samples=0": "samples = '0' is not accepted",
    "edit_stability:edits=typos": "case, typo, synonym, column",
    "edit_stability:edits=typo+typo": "each once",
    "aopc_sufficiency:divisor=6": "divisor = '6' is not accepted",
}


def test_a_wrong_option_is_named_in_one_line() -> None:
    def check(text: str) -> None:
        with pytest.raises(RequestError) as caught:
            parse_metric(text)
        assert WRONG[text] in str(caught.value)
        assert "\n" not in str(caught.value)

    check_each(check, WRONG)


def test_no_bins_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="rising order"):
        get_metric("aopc_sufficiency").Parameters(bins=())


def test_every_metric_declares_itself_by_default_and_by_every_preset() -> None:
    for metric in metrics().values():
        assert list(metric.presets) == (list(PRESETS) if metric.id in WITH_PRESETS else RATIONALE.get(metric.id, []))
        assert metric.source
        each = [metric.Parameters.model_validate({"preset": name}) for name in metric.presets]
        definitions = [metric.definition(parameters) for parameters in each]
        assert len(set(definitions)) == len(definitions)
        assert metric.definition(metric.Parameters())
        assert all(spec.help for spec in specs(metric.Parameters))
    assert {metric.id: metric.higher_is_better for metric in metrics().values()} == {
        "sufficiency": False,
        "comprehensiveness": True,
        "log_odds": False,
        "aopc_sufficiency": False,
        "aopc_comprehensiveness": True,
        "activation_auc": True,
        "inverse_activation_auc": False,
        **STABILITY,
        **{metric: not metric.startswith("mean_rank") for metric in RATIONALE},
    }


def test_a_definition_tells_what_was_asked() -> None:
    text = parse_metric("aopc_sufficiency:preset=alti:bins=3+7:removal=mask:divisor=bins_plus_one").definition
    for part in ("k = 3, 7", "rounded up", "replaced by the mask token", "smallest difference", "one more than"):
        assert part in text
    text = parse_metric("comprehensiveness:preset=ferret").definition
    for part in ("k = 20", "special tokens apart", "rounded down", "deleted", "tokenised again", "zero or less"):
        assert part in text


def test_metrics_come_family_by_family() -> None:
    families = [metric.family for metric in metrics().values()]
    assert families == ["Perturbation"] * 5 + ["Activation"] * 2 + ["Stability"] * 3 + ["Rationale"] * 7
    assert metric_ids("Perturbation") == list(WITH_PRESETS)
    assert metric_ids("Activation") == ["activation_auc", "inverse_activation_auc"]
    assert metric_ids("Stability") == list(STABILITY)
    assert metric_ids("Rationale") == list(RATIONALE)
