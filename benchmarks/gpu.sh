#!/usr/bin/env bash
# Measures every method and metric on a machine that has PyTorch with CUDA, and may have nothing else:
#
#     bash benchmarks/gpu.sh FOLDER [SECONDS]
#
# FOLDER gets gpu.jsonl, which the next run continues, and gpu.md. All takes at most SECONDS (540), apart from the end of
# a measurement. PYTHON is the Python that has torch (python3). What else is needed goes into an environment of its own,
# which is removed at the end: torch stays as it is. WHEELS is a folder of wheels, for a machine that reaches no package
# index: the script installs them alone, and the machine must have the rest.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
seconds=${2:-540}
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
base=${PYTHON:-python3}
python=$scratch/venv/bin/python
"$base" -m venv --without-pip --system-site-packages "$scratch/venv"
# The packages beside torch, also where torch is in an environment, which another one does not see.
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$base" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent.parent)' > "$site/beside_torch.pth"
"$python" -c 'import torch; print(f"torch=={torch.__version__}")' > "$scratch/constraints.txt"

install=("$base" -m pip --python "$python" --disable-pip-version-check install --quiet)
if [ -n "${WHEELS:-}" ]; then
  "${install[@]}" --no-index --no-deps "$WHEELS"/*.whl
else
  sed '/^# The app:/,$d; /^torch==/d' requirements.txt > "$scratch/requirements.txt"
  "${install[@]}" --constraint "$scratch/constraints.txt" --requirement "$scratch/requirements.txt"
fi

export HF_HUB_OFFLINE=1
measure() { "$python" -m benchmarks.gpu "$folder" --seconds "$((seconds - SECONDS))"; }
measure || measure  # an error of the GPU ends the process; the next one tries that measurement last
