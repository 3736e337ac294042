"""Commands about this installation: its state, its settings, its workers, and the runs that it keeps."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from explainlab import __version__
from explainlab.options import Json, print_body

LIBRARIES = (
    "torch", "transformers", "tokenizers", "safetensors", "numpy", "scipy", "pandas", "captum", "streamlit", "plotly",
    "altair", "sqlalchemy", "psycopg", "ray", "peft", "bitsandbytes",
)  # fmt: skip
"""The libraries whose versions a bug report needs."""
_MB = 2**20


def settings(as_json: Json = False) -> None:
    """List the settings: environment variables with default and help."""
    from explainlab.settings import describe_settings

    body = describe_settings()
    print_body({"settings": body}, as_json, [f"{s['name']:<32}{s['help']}" for s in body])


def doctor(as_json: Json = False) -> None:
    """Print what a bug report needs: versions, device, limits and store. It starts nothing and loads no model."""
    body = {
        "versions": _versions(),
        "device": _device(),
        "settings": _changed_settings(),
        "limits": _limits(),
        "store": _store(),
    }
    lines = [line for part, facts in body.items() for line in (part, *(f"  {k:<24}{v}" for k, v in facts.items()))]
    print_body(body, as_json, lines)


def _versions() -> dict[str, str]:
    """Return the versions of ExplainLab, of Python, of the system and of the libraries that are installed."""
    found = {"explainlab": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _device() -> dict[str, Any]:
    """Return the device that a model would get, and how much memory it has."""
    import torch

    from explainlab.models.devices import choose_device, free_memory, whole_memory

    device = choose_device()
    gpu = {"gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else {}
    memory = {"memory_mb": whole_memory(device) // _MB, "free_mb": free_memory(device) // _MB}
    return {"device": device.type, **gpu, **memory, "cores": os.cpu_count()}


def _changed_settings() -> dict[str, Any]:
    """Return the settings that are not the default; free text, such as an address or a folder, is only named."""
    from explainlab.settings import Settings, settings

    fields, own = Settings.model_fields, settings()
    free = {name for name, field in fields.items() if field.annotation in (str, Path)}
    return {
        f"EXPLAINLAB_{name.upper()}": "set" if name in free else getattr(own, name)
        for name in fields
        if name in own.model_fields_set and getattr(own, name) != fields[name].get_default(call_default_factory=True)
    }


def _limits() -> dict[str, Any]:
    """Return the limits that hold here."""
    from explainlab.settings import Settings, settings

    return {name: getattr(settings(), name) for name in Settings.model_fields if name.startswith("max_")}


def _store() -> dict[str, Any]:
    """Return the kind of the store, and the state of its folder; nothing is opened."""
    from explainlab.settings import settings

    url, home = settings().store_url, settings().home
    kind, _, address = url.partition(":///")
    body: dict[str, Any] = {"kind": url.partition(":")[0].partition("+")[0]}
    if kind == "sqlite":
        file = Path(address)
        body["size_mb"] = round(file.stat().st_size / _MB, 1) if file.is_file() else "not made yet"
    folder = next(parent for parent in (home, *home.absolute().parents) if parent.is_dir())
    return {
        **body,
        "home": "there" if home.is_dir() else "not made yet",
        "writable": os.access(folder, os.W_OK),
        "free_mb": shutil.disk_usage(folder).free // _MB,
    }


def workers(as_json: Json = False) -> None:
    """List the workers of the servers that run here; where none does, start those of the settings and look at them."""
    from explainlab.service.fleet.command import all_workers
    from explainlab.service.fleet.worker_reports import lines_of

    body = all_workers()
    print_body(body, as_json, lines_of(body))


def worker(
    address: Annotated[str, typer.Option("--address", help="HOST:PORT of the head of a Ray cluster.")],
) -> None:
    """Join this machine to a Ray cluster, until Ctrl+C: the servers that use the cluster may then compute here."""
    from explainlab.workers.cluster.joining import join

    typer.echo(f"This machine works for the cluster at {address}, until Ctrl+C.", err=True)
    join(address)


def dashboard(
    options: Annotated[list[str] | None, typer.Argument(help="Streamlit's own, such as --server.port=8600.")] = None,
) -> None:
    """Open the app in the browser; options after -- are Streamlit's."""
    from explainlab.errors import UnsupportedError
    from explainlab.settings import ROOT

    if find_spec("streamlit") is None:
        raise UnsupportedError("The app needs Streamlit.", "Install it: pip install 'explainlab[app]'.")
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *(options or [])]
    raise typer.Exit(subprocess.call(command))


store = typer.Typer(no_args_is_help=True)
"""The commands about the store as a whole."""


@store.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    as_json: Json = False,
) -> None:
    """Write the whole store to one file: results, runs, notes and links of all users. Servers may go on meanwhile.

    Made models, uploads and templates are plain files of the home folder: copy these.
    """
    from explainlab.service.store.store import Store
    from explainlab.settings import settings

    with closing(Store(settings().store_url, settings().parts)) as opened:
        counts = opened.back_up(file, __version__)
    print_body({"file": str(file), **counts}, as_json, _counted(counts))


@store.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `store backup`.")],
    as_json: Json = False,
) -> None:
    """Fill an empty store from a backup, with all of it or nothing; the database may be of another kind."""
    from explainlab.service.store.store import Store
    from explainlab.settings import settings

    with closing(Store(settings().store_url, settings().parts)) as opened:
        counts = opened.restore(file)
    print_body({"file": str(file), **counts}, as_json, _counted(counts))


def _counted(counts: dict[str, int]) -> list[str]:
    return [f"{name}: {count:,}" for name, count in counts.items()]


def export(
    run: Annotated[str, typer.Option("--run", help="The id of a run: it ends the link of its page under Runs.")],
    out: Annotated[Path, typer.Option("--out", help="A new file: NAME.parquet, NAME.csv or NAME.jsonl.")],
    as_json: Json = False,
) -> None:
    """Write the rows of a stored run, a row a text, as one file."""
    from explainlab.errors import RequestError
    from explainlab.figures.rows import write_rows
    from explainlab.service.service import open_service
    from explainlab.service.users import LOCAL

    with open_service() as service:
        opened = service.open_run(run, LOCAL)
        if opened.result is None:
            raise RequestError(opened.missing, "Run it again on its page.")
        count = write_rows(opened.result.rows_in_parts, out)
    print_body({"out": str(out), "rows": count}, as_json, [f"{count:,} rows in {out}"])
