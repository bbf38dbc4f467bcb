# shellcheck shell=bash
# Sourced by scripts that use the wheel, with it as their first argument and a folder of further wheels as their second one, if any:
# unpacks all into `$work/site`, as `pip install --target` does, without pip and network. At the root of the repository.
set -euo pipefail
wheel=$(realpath "${1:?the wheel}")
further=${2:+$(realpath "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NCUGATE_CACHE="$work/cache" MPLBACKEND=agg PYTHONPATH="$work/site"
unset NCUGATE_BINARY
python3 - "$work/site" "$wheel" "$further" << 'PYTHON'
import pathlib
import shutil
import sys
import zipfile

site, wheel, further = map(pathlib.Path, sys.argv[1:])
for path in [*(further.glob("*.whl") if sys.argv[3] else []), wheel]:
    with zipfile.ZipFile(path) as content:
        content.extractall(site)
for data in [*site.glob("*.data/purelib"), *site.glob("*.data/platlib")]:
    shutil.copytree(data, site, dirs_exist_ok=True)
next(site.glob("ncugate-*.data/scripts")).rename(site / "bin")
for program in (site / "bin").iterdir():
    program.chmod(0o755)
PYTHON
