"""One press of *Explain*, traced in server and worker together: ``python -m tests.press`` prints the counts as JSON.

``resolved`` and ``identified`` count, by question, how often the pressed text's request was completed and hashed;
``modules`` lists the modules of the package that the press entered.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

TEXT = "A dull but honest film."
PACKAGE = str(Path(__file__).parents[1] / "explainlab")


class Tracer:
    """A profile function for all threads, which counts while it is ``on``."""

    def __init__(self) -> None:
        self.on = False
        self.modules: set[str] = set()
        self.resolved: Counter[str] = Counter()
        self.identified: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call of a function of the package."""
        code = frame.f_code
        if not self.on or event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        self.modules.add(code.co_filename[len(PACKAGE) + 1 :])
        counted = {"resolve": self.resolved, "identity_with": self.identified, "identity": self.identified}
        request = frame.f_locals.get("request")
        own = code.co_qualname in ("resolve", "Explain.identity", "Analysis.identity_with")
        if own and getattr(request, "text", None) == TEXT:
            counted[code.co_name][
                " of ".join([request.question, *filter(None, [request.parameters.get("method")])])
            ] += 1


def main() -> None:
    """Open the page, press the button with another text, and print the counts."""
    tracer = Tracer()
    threading.setprofile(tracer)  # before any thread begins
    sys.setprofile(tracer)
    from streamlit.testing.v1 import AppTest

    from explainlab.service.service import service
    from explainlab.settings import ROOT

    def answered(app: AppTest) -> AppTest:
        while any(button.label == "Cancel" for button in app.button) or not app.header:
            for job in service().engine.unfinished():
                service().engine.wait(job, 60)
            app.run()
        return app

    app = answered(AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run())
    tracer.on = True
    app.text_area[0].set_value(TEXT)
    next(button for button in app.button if button.label == "Explain").click()
    answered(app.run())
    tracer.on = False
    assert not app.exception
    print(json.dumps({**vars(tracer), "modules": sorted(tracer.modules)}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(EXPLAINLAB_HOME=home, EXPLAINLAB_WORKERS="0", HF_HUB_OFFLINE="1")
        main()
        sys.stdout.flush()
        os._exit(0)  # the threads of the service hold the store
