"""Links to the page of words lead to something that is there."""

from __future__ import annotations

import re

import pytest

from explainlab.app.glossary import TERMS, anchor, explained, link, titles
from explainlab.attribution.registry import methods
from explainlab.metrics.registry import metrics


def test_every_anchor_stands_once() -> None:
    names = [*methods(), *metrics(), *(term.id for terms in TERMS.values() for term in terms)]
    anchors = [anchor(name) for name in names]
    assert len(set(anchors)) == len(anchors)
    assert set(titles()) == set(anchors)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in anchors)


def test_help_leads_to_the_words() -> None:
    helped = explained("What gets a score.", "feature", "kernel_shap")
    assert helped.startswith("What gets a score.\n\n")
    assert "[Feature](words#feature) · [KernelSHAP](words#kernel-shap)" in helped


def test_a_word_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        link("unheard of")
