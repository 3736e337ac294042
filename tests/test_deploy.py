"""The files under assets/deploy/: they name what is there, and settings that exist."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

from explainlab.settings import ASSETS, ROOT, Settings

DEPLOY = ASSETS / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
SETTINGS = {f"EXPLAINLAB_{name.upper()}" for name in Settings.model_fields}


def test_the_image_copies_what_there_is_and_all_that_the_app_needs() -> None:
    copied = [source for source, _ in re.findall(r"^COPY (\S+) (\S+)$", DOCKERFILE, re.MULTILINE)]
    assert all((ROOT / source).exists() for source in copied)
    needed = {path.name for path in ASSETS.iterdir()} - {"deploy", "explain.png"}
    assert needed == {source.removeprefix("assets/") for source in copied if source.startswith("assets/")}
    assert {"app.py", "pages", "explainlab", ".streamlit/config.toml", "requirements.txt"} <= set(copied)
    assert re.search(r"^USER explainlab$", DOCKERFILE, re.MULTILINE)
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert (ROOT / yaml.safe_load(command)[-1]).is_file()


@pytest.mark.parametrize("name", sorted(path.name for path in DEPLOY.iterdir()))
def test_only_settings_that_exist_are_named(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    assert set(re.findall(r"EXPLAINLAB_[A-Z_]*[A-Z]", text)) <= SETTINGS


def test_the_compose_file_serves_nobody_unknown_and_only_by_the_proxy() -> None:
    services = COMPOSE["services"]
    assert services["app"]["environment"]["EXPLAINLAB_AUTH"] == "oidc"
    assert "ports" not in services["app"]
    assert "ports" not in services["database"]
    for name, value in services["app"]["environment"].items():
        if name.startswith("EXPLAINLAB_MAX_"):
            Settings(**{name.removeprefix("EXPLAINLAB_").lower(): value})
    mounted = [volume.split(":")[0] for service in services.values() for volume in service["volumes"]]
    assert (DEPLOY / next(path for path in mounted if "nginx" in path)).is_file()


def test_the_secrets_are_those_that_sign_in_needs() -> None:
    secrets = tomllib.loads((DEPLOY / "secrets.example.toml").read_text(encoding="utf-8"))
    needed = {"redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url"}
    assert secrets["auth"].keys() == needed
