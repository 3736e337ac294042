"""The files under assets/deploy/: they name what is there, and settings that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from explainlab.settings import ASSETS, ROOT, Settings, settings
from explainlab.workers.cluster.address import require_private

DEPLOY = ASSETS / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "${RAY_TOKEN:-}"}
SETTINGS = {f"EXPLAINLAB_{name.upper()}" for name in Settings.model_fields}


def test_the_image_copies_what_there_is_and_all_that_the_app_needs() -> None:
    copied = [source for source, _ in re.findall(r"^COPY (\S+) (\S+)$", DOCKERFILE.replace("$DEVICE", "cpu"), re.M)]
    assert all((ROOT / source).exists() for source in copied)
    needed = {path.name for path in ASSETS.iterdir()} - {"deploy", "notebooks"}
    assert needed == {source.split("/")[1] for source in copied if source.startswith("assets/")} - {"deploy"}
    assert {"app.py", "pages", "explainlab", ".streamlit/config.toml", "assets/deploy/requirements.lock"} <= set(copied)
    assert re.search(r"^USER explainlab$", DOCKERFILE, re.MULTILINE)
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert (ROOT / yaml.safe_load(command)[-1]).is_file()


@pytest.mark.parametrize("name", sorted(str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*") if path.is_file()))
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


def test_a_cluster_is_walled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    app, worker = COMPOSE["services"]["app"], COMPOSE["services"]["worker"]
    assert worker["profiles"] == ["ray"]
    assert worker["deploy"]["replicas"] == 2
    assert "ports" not in worker
    assert worker["networks"] == ["cluster"]
    assert COMPOSE["networks"]["cluster"]["internal"]
    address = app["environment"]["EXPLAINLAB_RAY_ADDRESS"]
    assert worker["command"][-2:] == ["--address", address]
    assert address.startswith(app["networks"]["cluster"]["ipv4_address"])
    monkeypatch.setattr(settings(), "auth", "oidc")
    require_private(address)
    own, theirs = ({name: service["environment"][name] for name in TOKEN} for service in (app, worker))
    assert own == theirs == TOKEN
    example = (DEPLOY / "env.example").read_text(encoding="utf-8")
    assert f"--node-ip-address={address.split(':')[0]} --port={address.split(':')[1]}" in example
    asked = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text(encoding="utf-8")))
    assert asked <= set(re.findall(r"^(?:# )?(\w+)=", example, re.MULTILINE))


def test_the_demo_trains_nothing_and_allows_less_than_an_instance_with_sign_in() -> None:
    demo = Settings(**{name.removeprefix("EXPLAINLAB_").lower(): value for name, value in demo_environment().items()})
    assert demo.hosted
    assert not demo.allow_training
    assert demo.model_patterns == ["embedded:*"]
    assert not demo.home.is_relative_to("/data"), "the image has a volume there, which may outlive the container"
    shared = {name: int(value) for name, value in COMPOSE["services"]["app"]["environment"].items() if "_MAX_" in name}
    for name in shared.keys() & demo_environment().keys() - {"EXPLAINLAB_MAX_QUEUE_PER_USER"}:  # visitors are one user
        assert getattr(demo, name.removeprefix("EXPLAINLAB_").lower()) < shared[name], name


def demo_environment() -> dict[str, str]:
    """Return the settings of ExplainLab in the demo's container file."""
    file = (DEPLOY / "demo" / "Dockerfile").read_text(encoding="utf-8")
    return dict(re.findall(r"(EXPLAINLAB_[A-Z_]+)=(\S+)", file))


def test_the_secrets_are_those_that_sign_in_needs() -> None:
    secrets = tomllib.loads((DEPLOY / "secrets.example.toml").read_text(encoding="utf-8"))
    needed = {"redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url"}
    assert secrets["auth"].keys() == needed


def test_images_are_named_by_digest() -> None:
    images = [service["image"] for service in COMPOSE["services"].values() if "image" in service]
    images += re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(images) == 3
    assert all(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image) for image in images)


def test_the_image_has_every_package_by_hash_and_from_one_index() -> None:
    assert "--require-hashes" in DOCKERFILE
    assert re.findall(r"--(?:extra-)?index-url (\S+)", DOCKERFILE) == ["https://pypi.org/simple"]
    locks = {path.name: locked(path) for path in DEPLOY.glob("*.lock")}
    assert all(hashes for lock in locks.values() for hashes in lock.values())
    (ray,) = re.findall(r"^ray==([\w.]+)", (ROOT / "tests/requirements.txt").read_text(), re.MULTILINE)
    assert ("ray", ray) in locks["ray.lock"]
    for device in ("cpu", "cuda"):
        pinned = locks["requirements.lock"] | locks[f"torch.{device}.lock"]
        wanted = re.findall(r"^([\w.-]+)(?:\[.*\])?==([\w.]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
        assert {(name.lower().replace("_", "-"), version) for name, version in wanted} <= pinned.keys()


def locked(path: Path) -> dict[tuple[str, str], list[str]]:
    """Return the hashes of every package of a lock file, by its name and version."""
    packages = re.split(r"^(?=[a-z])", re.sub("^#.*$", "", path.read_text(), flags=re.MULTILINE), flags=re.MULTILINE)
    named = re.compile(r"([a-z0-9.-]+)(?:\[.*\])?(?:==| @ \S+/torch-)(\d[\w.]*)")
    return {named.match(p).groups(): re.findall(r"--hash=sha256:[0-9a-f]{64}", p) for p in packages if p.strip()}
