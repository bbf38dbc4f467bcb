#!/usr/bin/env bash
# Installs the ncugate of the action's own version, for action.yml: from the sources in SOURCE, kept by a hash of them in the
# runner's tool cache. A program of another version that is on the runner is never taken; BINARY names one to take.
# Writes `program=PATH` to GITHUB_OUTPUT.
set -euo pipefail

if [ -n "${BINARY:-}" ]; then
    program=$BINARY
else
    sources=(Cargo.toml Cargo.lock build.rs src crates templates third_party)
    key=$(cd "$SOURCE" && find "${sources[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-32)
    root=${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:?neither RUNNER_TOOL_CACHE nor RUNNER_TEMP is set}}/ncugate/$key
    program=$root/bin/ncugate
    if [ ! -x "$program" ]; then
        # Into a folder of its own first: an installation that was cut short is not taken for a whole one.
        mkdir -p "$(dirname "$root")"
        fresh=$(mktemp -d "$root.XXXXXX")
        cargo install --locked --path "$SOURCE" --root "$fresh"
        mv -T "$fresh" "$root" 2> /dev/null || rm -rf "$fresh"
    fi
fi
"$program" --version
echo "program=$program" >> "${GITHUB_OUTPUT:-/dev/null}"
