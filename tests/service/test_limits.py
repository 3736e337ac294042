"""The limits of an instance, at every way in: models, files of the server, and sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.registry import complete, studies
from explainlab.attribution.registry import methods
from explainlab.errors import DataError, ModelError, RequestError, TextError
from explainlab.request import Request
from explainlab.service import file_tasks
from explainlab.service.limits import named_files, require_allowed, require_answerable
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.uploads import keep_upload
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings

MODEL = "embedded:bert-mini-sst2"
Set = Callable[..., None]


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Set:
    """Return ``having(name=value)``, which changes settings for one test."""
    return lambda **values: [monkeypatch.setattr(settings(), name, value) for name, value in values.items()]


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Store("sqlite://"), "cpu")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text("text,label\na stirring film,positive\n", encoding="utf-8")
    return path


def ask(**fields: Any) -> Request:
    return Request(**{"model": MODEL, "text": "a film", "question": "random", **fields})


def ask_study(study: str = "path_gradients", **fields: Any) -> Request:
    source = {} if "data" in fields else {"text": "a film"}
    return Request(**{"model": MODEL, "question": study, **source, **fields})


def refused(question: Request, error: type[Exception], match: str) -> None:
    """Check that the one way in does not let ``question`` pass."""
    with pytest.raises(error, match=match):
        resolve(question)


# Models --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "model", "allowed"),
    [
        ("", "/any/folder", True),
        ("embedded:*", MODEL, True),
        ("embedded:*", "owner/name", False),
        ("owner/*, embedded:bert*", "owner/name", True),
        ("owner/*", "other/owner/name", False),
        ("gpt2", "completion:sst2:gpt2", True),
        ("completion:sst2:*", "completion:sst2:gpt2", True),
        ("completion:sst2:*", "gpt2", False),
        ("embedded:*", "completion:sst2:gpt2", False),
        ("EMBEDDED:*", MODEL, False),
    ],
)
def test_a_model_is_served_if_a_pattern_matches(having: Set, patterns: str, model: str, allowed: bool) -> None:
    having(allowed_models=patterns)
    if allowed:
        require_allowed(ask(model=model))
        return
    with pytest.raises(ModelError, match="is not served here") as caught:
        require_allowed(ask(model=model))
    assert patterns.split(",")[0] in caught.value.remedy
    assert "EXPLAINLAB_ALLOWED_MODELS" in caught.value.remedy


def test_a_hosted_instance_serves_the_embedded_models_unless_told(having: Set, service: Service, file: Path) -> None:
    having(auth="oidc")
    require_allowed(ask())
    refused(ask(model=str(file.parent)), ModelError, "is not served here")


# Files ---------------------------------------------------------------------------------------------------------------

WITH_DATA = [method.id for method in methods().values() if "baseline_data" in method.Parameters.model_fields]


def naming(path: str) -> dict[str, Request]:
    """Return a request for every field that can name a file of the server."""
    inside = {"baseline": "max_entropy", "baseline_data": path}
    option = f"occlusion:baseline=max_entropy:baseline_data={path}"
    return {
        **{method: ask(question=method, parameters=inside) for method in WITH_DATA},
        "data": ask_study(data=path),
        "path_gradients": ask_study(parameters=inside),
        "integration_error": ask_study("integration_error", parameters=inside),
        "trust": ask_study("trust", parameters={"method": "occlusion", "settings": inside}),
        "evaluation": ask_study("evaluation", parameters={"methods": ["lime"], "settings": {"lime": inside}}),
        "attributions": ask_study("evaluation", parameters={"attributions": [path]}),
        "ablation": ask_study("ablation", parameters={"methods": ["lime"], "settings": {"lime": inside}}),
        "activation": ask_study("activation", parameters={"methods": [option]}),
        "layer_randomisation": ask_study("layer_randomisation", parameters={"methods": [f"gradient+{option}"]}),
        "reference": ask_study("activation", parameters={"methods": ["random"], "reference": option}),
    }


@pytest.mark.parametrize("way", naming(""))
def test_where_hosted_no_file_of_the_server_can_be_named(having: Set, service: Service, file: Path, way: str) -> None:
    for path in (str(file), "/there/is/no/such.csv"):
        question = naming(path)[way]
        asked = complete(question)
        assert list(named_files(asked)) == [path]
        having(auth="none", allow_anyone=False)
        require_allowed(asked)
        for hosted in ({"auth": "oidc"}, {"auth": "proxy"}, {"auth": "none", "allow_anyone": True}):
            having(**hosted)
            refused(question, DataError, "paths on the server are not allowed")


def test_where_hosted_no_folder_of_the_server_is_written(having: Set, service: Service, tmp_path: Path) -> None:
    own = {"test": "embedded:meals-test", "weights_folder": str(tmp_path / "kept")}
    question = Request(model="bilstm_attention", question="roar", data="embedded:meals", parameters=own)
    require_allowed(complete(question))
    having(auth="oidc", allow_training=True)
    refused(question, RequestError, "Folders of the server cannot be written here")
    require_allowed(complete(question.model_copy(update={"parameters": {**own, "weights_folder": ""}})))
    assert not (tmp_path / "kept").exists()


def test_where_hosted_no_file_of_the_server_can_be_looked_at(having: Set, file: Path) -> None:
    ways = (file_tasks.preview, file_tasks.source_digest, lambda path, user: file_tasks.survey(path, ["a"], {}, user))
    for way in ways:
        way(str(file), LOCAL)
    having(auth="oidc")
    for way in ways:
        for path in (str(file), str(file.parent / "nearly.csv")):
            with pytest.raises(DataError, match="paths on the server are not allowed"):
                way(path, LOCAL)


def test_an_upload_is_looked_at_by_its_own_user_alone(having: Set) -> None:
    having(auth="oidc")
    ann, bob = User("ann", "Ann"), User("bob", "Bob")
    upload = keep_upload(b"text,label\nfine,positive\n", "mine.csv", ann)
    assert file_tasks.preview(upload, ann).answer().columns == ("text", "label")
    with pytest.raises(DataError, match="no upload of this name"):
        file_tasks.preview(upload, bob)


def test_every_parameter_that_holds_a_file_is_known() -> None:
    """A new one, in a method or a study, must be added to the ways above."""
    declared = {name for one in (*methods().values(), *studies().values()) for name in one.Parameters.model_fields}
    assert {name for name in declared if "data" in name or "attributions" in name or "file" in name} == {
        "baseline_data",
        "attributions",
        "validation_data",
        "test_data",
    }


def test_where_hosted_embedded_and_uploaded_data_may_be_named(having: Set) -> None:
    having(auth="oidc")
    for data in ("embedded:sentiment", "upload:0123.csv"):
        require_allowed(ask_study(data=data))


def test_a_file_without_a_column_that_is_needed_is_refused_before_the_queue(service: Service, file: Path) -> None:
    """Also of a set; a file that only another question could not use is accepted."""
    unnamed = {"label": "class"}
    metrics = {"metrics": ["auprc"]}
    for study, how in (
        ("layer_randomisation", {"columns": {"text": "words"}}),
        ("evaluation", {"columns": unnamed}),
        ("evaluation", {"parameters": metrics}),
    ):
        question = resolve(ask_study(study, data=str(file), **how))
        for call in (
            lambda asked: service.submit(asked),
            lambda asked: require_answerable(asked.request),
            lambda asked: service.submit_set([asked]),
        ):
            with pytest.raises(DataError, match=r"has no column '(words|class)'|its column 'rationale' is missing"):
                call(question)
    assert not service.engine.unfinished()
    require_answerable(resolve(ask_study("evaluation", data=str(file))).request)
    file.write_text("text\na stirring film\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"no column 'label'; .* 'text'"):
        require_answerable(resolve(ask_study("evaluation", data=str(file), target="gold")).request)
    for study in ("evaluation", "layer_randomisation"):
        require_answerable(resolve(ask_study(study, data=str(file))).request)
    with pytest.raises(DataError, match="has no column 'label'"):
        require_answerable(resolve(ask_study("layer_randomisation", data=str(file), target="gold")).request)
    file.write_text("", encoding="utf-8")
    require_answerable(resolve(ask_study("evaluation", data=str(file))).request)


# How much ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "value", "question", "error"),
    [
        ("max_characters", 5, ask(), TextError),
        ("max_characters", 10, ask(text_pair="a longer one"), TextError),
        ("max_characters", 5, ask_study(), TextError),
        ("max_rows", 9, ask_study(data="embedded:sentiment", parameters={"rows": 10}), RequestError),
        ("max_evaluations", 49, ask(question="integrated_gradients", parameters={"steps": 50}), RequestError),
        ("max_evaluations", 99, ask_study(parameters={"steps": [100]}), RequestError),
        ("max_candidates", 9, ask(question="rpi", parameters={"samples": 10}), RequestError),
        ("max_candidates", 9, ask_study("rpi_candidates", parameters={"samples": 10}), RequestError),
        ("max_candidates", 9, ask_study("ablation", parameters={"samples": 10}), RequestError),
        ("max_candidates", 9, ask_study("activation", parameters={"methods": ["rpi:samples=10"]}), RequestError),
    ],
)
def test_beyond_a_limit_its_name_is_told(
    having: Set, service: Service, limit: str, value: int, question: Request, error: type[Exception]
) -> None:
    having(**{limit: value})
    with pytest.raises(error, match=f"EXPLAINLAB_{limit.upper()}") as caught:
        service.submit(resolve(question))
    assert f"{value:,}" in str(caught.value)
    having(**{limit: 1_000_000})
    job = service.submit(resolve(question))
    service.cancel(job.key)


def test_who_can_change_a_limit_depends_on_whose_instance_it_is(having: Set, service: Service) -> None:
    having(max_characters=5)
    with pytest.raises(TextError, match="you can change it"):
        service.submit(resolve(ask()))
    having(auth="oidc")
    with pytest.raises(TextError, match="whoever runs this instance"):
        service.submit(resolve(ask()))
