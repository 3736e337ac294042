"""The view of the Activation page: which output its methods explain, in its requests and back."""

from __future__ import annotations

import pytest

from explainlab.analyses.registry import complete
from explainlab.app.pages.activation.form import ActivationView, first_view, shows
from explainlab.request import Request


@pytest.mark.parametrize("output", ["own", "probability", "logit"])
def test_the_output_of_all_methods_is_in_the_request_and_comes_back(output: str) -> None:
    view = first_view().model_copy(update={"output": output, "methods": ("lrp",)})
    request = complete(view.text_request())
    back = shows(request)
    assert back is not None
    assert back.output == output
    assert complete(back.text_request()) == request
    assert view.map_request("lrp").output == ("logit" if output == "own" else output)
    assert view.same_setting(view)
    assert view.same_setting(view.model_copy(update={"output": "own"})) == (output == "own")


def test_an_older_link_is_of_each_methods_own() -> None:
    older = {name: value for name, value in first_view().model_dump(mode="json").items() if name != "output"}
    assert ActivationView(**older).output == "own"
    request = first_view().text_request()
    assert request == Request(**request.model_dump())
    assert "outputs" not in request.parameters
