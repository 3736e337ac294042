"""The script of the Runs page: no, one or many runs; opened, compared, repeated, shared, deleted; always private."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete
from streamlit.testing.v1 import AppTest

from explainlab.analyses.registry import complete, kind_of
from explainlab.app import session
from explainlab.app.pages.runs.bundle import study_bundle
from explainlab.figures.export import to_json
from explainlab.request import Request
from explainlab.service import service as service_module
from explainlab.service.resolved import request_json, resolve
from explainlab.service.service import Service
from explainlab.service.store.runs import Run
from explainlab.service.store.schema import RESULTS
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings
from tests.conftest import restart
from tests.pages import scripted
from tests.pages.scripted import charts, opened, press, words

MODEL = "embedded:bert-mini-sst2"
TEXT = "A <b>warm</b> and *funny* film."
BOB = User("bob@example.org", "Bob <script>")


def computed(service: Service, method: str = "input_x_gradient", user: User = LOCAL, **chosen) -> Run:
    request = Request(**{"model": MODEL, "text": TEXT, "question": method, **chosen})
    return _waited(service, request, user)


def _waited(service: Service, request: Request, user: User = LOCAL) -> Run:
    assert service.engine.wait(service.submit(resolve(request, user)), 60)
    return service.runs(user).runs[0]


def told(app: AppTest) -> str:
    """All that the page says."""
    parts = (app.header, app.subheader, app.markdown, app.caption, app.info, app.success, app.warning, app.error)
    return " ".join(words(part) for part in parts)


def listed(app: AppTest) -> list[str]:
    """Return the subjects of the table's rows."""
    return app.dataframe[0].value["Text or data"].tolist()


def test_nothing_is_told_nicely(service: Service) -> None:
    app = opened("runs")
    assert "Nothing has been computed yet" in told(app)
    assert not app.dataframe
    assert not app.error


def test_what_a_page_computes_is_there(service: Service) -> None:
    press(scripted.opened("explain"), "Explain")
    app = opened("runs")
    assert "2 runs" in told(app)
    assert set(app.dataframe[0].value["What"]) == {"Integrated gradients", "KernelSHAP"}
    assert "Who" not in app.dataframe[0].value, "there is nobody else"
    asked = [run.asked for run in service.runs(LOCAL).runs]
    press(scripted.opened("explain"), "Explain")
    again = service.runs(LOCAL).runs
    assert len(again) == 2
    assert min(run.asked for run in again) > max(asked), "asked again: the same runs, moved up"


def test_a_run_opens_with_all_that_decided_it_and_is_the_same_again(service: Service) -> None:
    run = computed(service)
    app = opened("runs", run=run.id)
    assert app.header[0].value == "Input × gradient"
    request, versions = (frame.value for frame in app.dataframe)
    values = dict(zip(request["Request"], request["Value"], strict=True))
    assert values == {
        "model": MODEL, "text": TEXT, "method": "input_x_gradient", "target": "predicted", "output": "probability",
        "unit": "token", "seed": "0", "dtype": "float32", "reduction": "sum",
    }  # fmt: skip
    assert {"torch", "model", "device"} <= set(versions["Versions"])
    assert "exactly the same" in told(press(app, "Compute again"))
    assert "All runs" in [button.label for button in app.button]
    assert "Nothing" not in told(press(app, "All runs"))
    assert listed(app) == [TEXT]


def test_a_result_that_was_made_elsewhere_is_held_against_ours(service: Service) -> None:
    result = service.open_run(computed(service).id, LOCAL).result
    body = result.to_json()
    body["features"][2]["score"] += 0.5 * max(abs(result.scores))
    largest = max(abs(feature["score"]) for feature in body["features"])
    difference = abs(body["features"][2]["score"] - result.scores[2]) / largest
    (run,) = service.import_runs(to_json([type(result).from_json(body)]).encode(), LOCAL)
    app = opened("runs", run=run.id)
    assert "imported from a file" in told(app)
    assert f"{100 * difference:.3g}% of the largest score" in told(press(app, "Compute again"))


def studied(service: Service) -> Run:
    parameters = {"steps": [2, 4]}
    return _waited(service, Request(question="integration_error", model=MODEL, text=TEXT, parameters=parameters))


def test_a_study_is_told(service: Service) -> None:
    app = opened("runs", run=studied(service).id)
    assert app.header[0].value == "Integration error"
    assert "exactly the same" in told(press(app, "Compute again"))
    assert any(button.label == "Open in Integration" for button in app.button)
    app.session_state["run_json"] = True
    assert '"ideal_steps"' in app.run().code[0].value


ABOUT_NOTHING = {"question": "synthetic_roar", "model": "", "parameters": {"draws": 2, "rows": 200}}
"""A study without a model, a text or a data set."""


def test_a_study_about_nothing_is_listed_drawn_and_compared(service: Service) -> None:
    first, second = _waited(service, Request(**ABOUT_NOTHING)), _waited(service, Request(**ABOUT_NOTHING, seed=1))
    app = opened("runs")
    assert listed(app) == ["seed 1", "seed 0"]
    assert set(app.dataframe[0].value["Model"]) == {""}
    assert list(app.selectbox(key="runs_model").options) == ["All"]
    app = opened("runs", run=first.id)
    assert app.header[0].value == "ROAR on a synthetic problem"
    assert "Recursive ROAR masks the four" in told(app)
    assert "Model:" not in told(app)
    assert [alt.split(",")[0].split(":")[0] for alt in charts(app)] == [
        "Accuracy by the number of masked features", "Draws in which the informative features are masked first",
    ]  # fmt: skip
    assert "exactly the same" in told(press(app, "Compute again"))
    assert not any(button.label.startswith("Open in") for button in app.button)
    app = opened("runs", **{"run": first.id, "with": second.id})
    assert not app.exception
    assert "The numbers differ most in" in told(app)
    assert app.dataframe[0].value["Setting"].tolist() == ["seed"]


@pytest.mark.full("10 s: draws each figure in three formats, as the bundles of other studies do in the first tier")
def test_a_study_about_nothing_is_a_bundle(service: Service) -> None:
    run = _waited(service, Request(**ABOUT_NOTHING))
    with zipfile.ZipFile(io.BytesIO(study_bundle(service.open_run(run.id, LOCAL).result))) as bundle:
        assert {"report.html", "draws.csv", "shares.csv", "result.json"} <= set(bundle.namelist())
        assert "Data set" not in bundle.read("report.html").decode().partition("<h2>")[0]


def test_a_study_that_was_made_elsewhere_is_held_against_ours(service: Service) -> None:
    own = studied(service)
    body = service.open_run(own.id, LOCAL).result.to_json()
    (other,) = service.import_runs(json.dumps({**body, "expected": 4 * body["expected"]}).encode(), LOCAL)
    app = opened("runs", run=other.id)
    assert "75% of the largest of its column" in told(press(app, "Compute again"))
    app = opened("runs", **{"run": other.id, "with": own.id})
    assert "differ most in expected: by 75%" in told(app)


def test_a_result_that_was_deleted_says_so_and_comes_back(service: Service) -> None:
    run = computed(service)
    service.store._database.change(delete(RESULTS).where(RESULTS.c.key == run.key))
    restart()
    app = opened("runs", run=run.id)
    assert "Its result has been deleted" in told(app)
    assert "has been deleted" not in told(press(app, "Compute again"))
    assert service_module.service().open_run(run.id, LOCAL).result is not None


def test_a_model_that_is_gone_says_so(service: Service) -> None:
    run = computed(service)
    result = service.open_run(run.id, LOCAL).result
    file = to_json([type(result).from_json({**result.to_json(), "model": "embedded:gone"})])
    (imported,) = service.import_runs(file.encode(), LOCAL)
    app = opened("runs", run=imported.id)
    assert not app.error
    assert "The model is gone" in told(app)
    assert next(button for button in app.button if button.label == "Compute again").disabled


def test_two_are_compared(service: Service) -> None:
    first, second = computed(service), computed(service, "occlusion")
    app = opened("runs", **{"run": first.id, "with": second.id})
    assert [header.value for header in app.header] == ["Two runs side by side", "Agreement"]
    assert "Rank correlation" in app.table[0].value
    differ = app.dataframe[0].value
    assert "method" in differ["Setting"].tolist()
    app = opened("runs", run=first.id)
    app.selectbox(key="run_compare").set_value(second.id).run()
    assert app.header[0].value == "Two runs side by side"


def test_deleting_is_asked_twice(service: Service) -> None:
    run = computed(service)
    app = opened("runs", run=run.id)
    assert "Delete this run for good?" in told(app)
    press(app, "Yes, delete this run")
    assert service.runs(LOCAL).total == 0
    assert "Nothing has been computed yet" in told(app)
    assert "There is no run under this id" in told(opened("runs", run=run.id))


def test_a_run_gets_a_title(service: Service) -> None:
    app = opened("runs", run=computed(service).id)
    app.text_input[0].set_value("*My* film").run()
    assert words(app.header) == "*My* film"
    app = opened("runs")
    assert listed(app) == [f"*My* film: {TEXT}"]


@pytest.mark.parametrize("beside", [False, True])
def test_anothers_private_run_is_no_run(service: Service, beside: bool) -> None:
    own, other = computed(service), computed(service, "occlusion", BOB)
    never = told(opened("runs", **({"run": own.id, "with": "0" * 32} if beside else {"run": "0" * 32})))
    app = opened("runs", **({"run": own.id, "with": other.id} if beside else {"run": other.id}))
    assert told(app) == never
    assert "There is no run under this id" in never
    assert listed(opened("runs")) == [TEXT]


def test_sharing_is_there_for_those_who_are_signed_in(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    run = computed(service)
    assert not opened("runs", run=run.id).radio
    monkeypatch.setattr(session, "user", lambda: BOB)
    bobs = computed(service, "occlusion", BOB)
    app = opened("runs", run=bobs.id)
    app.radio[0].set_value("instance").run()
    assert service.open_run(bobs.id, LOCAL).run.visibility == "instance"
    monkeypatch.setattr(session, "user", lambda: LOCAL)
    app = opened("runs", run=bobs.id)
    assert not any(button.label.startswith("Yes, delete") for button in app.button)
    frame = opened("runs").dataframe[0].value
    assert set(frame["Who"]) == {"Bob <script>", "You"}


def test_many_are_filtered_and_paged(service: Service) -> None:
    for i in range(60):
        asked = datetime.now(UTC) - timedelta(hours=i)
        subject = f"text {i} {'needle' if i % 2 else ''}"
        run = Run("local", "You", "attribution", "lime", "m", subject, 1.0, 1, 1, f"{i:064}", {"i": i}, asked=asked)
        service.store.runs.record(run, f"{i:064}")
    app = opened("runs")
    assert "1–25 of 60 runs" in told(app)
    press(press(app, "Older"), "Older")
    assert "51–60 of 60 runs" in told(app)
    assert listed(app)[-1].startswith("text 59")
    app.text_input(key="runs_words").set_value("needle").run()
    assert "1–25 of 30 runs" in told(app)
    app.selectbox(key="runs_days").set_value(1).run()
    assert "12 runs" in told(app)
    app.text_input(key="runs_words").set_value("no such word").run()
    assert "No run matches these filters" in told(app)


# Jobs that a server left unanswered --------------------------------------------------------------------------------


@pytest.fixture
def cut_short(service: Service) -> Service:
    """Three questions that a server before this one did not live to answer, one of them nobody's business."""
    before = Store(settings().store_url).unfinished
    for number, user in enumerate((LOCAL, LOCAL, BOB)):
        request = complete(Request(model=MODEL, text=f"{TEXT} {number}", question="input_x_gradient"))
        before.begin(resolve(request).key, user.id, kind_of(request), request_json(request))
    return service


def test_what_a_stopped_server_left_is_told_and_run_again(cut_short: Service) -> None:
    app = opened("runs")
    assert "2 jobs had not finished" in told(app)
    assert app.dataframe[0].value["Text or data"].tolist() == [f"{TEXT} 0", f"{TEXT} 1"]
    assert "had not finished" not in told(press(app, "Run all again"))
    for job in cut_short.engine.unfinished():
        assert cut_short.engine.wait(job, 60)
    assert set(listed(opened("runs"))) == {f"{TEXT} 0", f"{TEXT} 1"}


def test_a_paused_grid_stands_there_to_go_on(service: Service) -> None:
    given = {"test": "0.2", "measures": ["gradient"]}
    grid = Request(model="bilstm_attention", question="roar", data="embedded:sentiment", parameters=given)
    job = service.submit(resolve(grid))
    service.cancel(job.key)
    assert service.engine.wait(job, 60)
    app = opened("runs")
    assert "1 job had not finished" in told(app)
    assert app.button(key="unfinished_again").label == "Go on with all"
    app.button(key="unfinished_again").click().run()
    assert "had not finished" not in told(app)
    (job,) = service.engine.unfinished()
    service.cancel(job.key)
    assert service.engine.wait(job, 60)
    press(opened("runs"), "Forget all")
    assert service.cut_short(LOCAL) == []


def test_what_a_stopped_server_left_is_forgotten(cut_short: Service) -> None:
    app = press(opened("runs"), "Forget all")
    assert "had not finished" not in told(app)
    assert cut_short.cut_short(LOCAL) == []
    assert len(cut_short.cut_short(BOB)) == 1
