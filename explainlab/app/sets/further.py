"""Further models and data sets beside the first: a folded control, with how further files are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from explainlab.app import session
from explainlab.app.data.choice import further
from explainlab.app.data.mapping import ROLES, draw_mapping, draw_upload
from explainlab.app.question import Question
from explainlab.data import EXAMPLES
from explainlab.data.hub import PREFIX as HUB
from explainlab.models.loading import model_name
from explainlab.models.stored.places import embedded_models
from explainlab.service import file_tasks
from explainlab.service.store.made import own_names


@dataclass(frozen=True)
class Known:
    """What can be chosen without typing: data ``sources``, and ``models`` (id: name) beside the embedded ones."""

    models: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[str] = tuple(EXAMPLES)


_USUAL = Known()


def draw_further(
    question: Question,
    classes: Sequence[str] | None,
    roles: Mapping[str, str] = ROLES,
    known: Known = _USUAL,
    draw_more: Callable[[str], None] | None = None,
) -> None:
    """Any number of models and data sets beside the first ones; ``classes`` and ``roles`` as for the first data set.

    ``draw_more`` draws what else is to be said of a further data set.
    """
    models, sources = question.now("models"), question.now("sources")
    every = (1 + len(models)) * (1 + len(sources))
    label = "Further models and data sets" + (f": {every} cells" if every > 1 else "")
    with st.expander(label, icon=":material/grid_view:", key=question.key("further")):
        own = own_names(session.user().id)
        names = {**known.models, **{model: model_name(model) for model in embedded_models()}, **own}
        typed = "Embedded models and those that you have made; or type a directory or a hub id."
        _draw_list(
            question, "Further models", "models", list(names), lambda model: names.get(model, model_name(model)), typed
        )
        typed = "Embedded examples, or type the path of a file; its columns can be picked below."
        _draw_list(question, "Further data sets", "sources", known.sources, _name, typed)

        def add(source: str) -> None:
            question.set("sources", [*(known for known in question.now("sources") if known != source), source])

        draw_upload(Question(question.key("further")), add, "Upload a further file")
        for source in sources:
            if source not in known.sources and not source.startswith(HUB):
                draw_mapping(further(question, source), classes, roles, _name(source))
            if draw_more is not None:
                draw_more(source)


def _draw_list(
    question: Question, label: str, name: str, known: Sequence[str], called_as: Callable[[str], str], typed: str
) -> None:
    st.multiselect(
        label,
        list(dict.fromkeys([*known, *question.now(name)])),
        question.now(name),
        key=question.key(name),
        accept_new_options=True,
        format_func=called_as,
        placeholder="None",
        help=f"{typed} Every model is studied on every data set.",
    )


def _name(source: str) -> str:
    return file_tasks.source_name(source, session.user())
