#!/usr/bin/env bash
# Installs the ncugate of the action's version, for action.yml. If the action is used at a release (ACTION_REF is `v` and the
# version of SOURCE), it installs the release archive and verifies its SHA-256. Otherwise, or if the archive is missing, it
# builds the sources in SOURCE.
# The installation is kept in the runner's tool cache, by version or by a hash of the sources. A program of another version on
# the runner is never used, unless BINARY names it.
# Writes `program=PATH` to GITHUB_OUTPUT.
set -euo pipefail

# Moves a folder into place atomically, so an interrupted installation is never taken for a complete one.
place() { mv -T "$1" "$2" 2> /dev/null || rm -rf "$1"; }

cache() {
    echo "${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:?neither RUNNER_TOOL_CACHE nor RUNNER_TEMP is set}}/ncugate"
}

# Fetches the release into a folder. Ends with 1 if no release exists or runs here; a wrong hash ends the script.
fetch() {
    local name=$1 fresh=$2 url
    url=${RELEASES:-${GITHUB_SERVER_URL:-https://github.com}}/$ACTION_REPOSITORY/releases/download/$ACTION_REF/$name.tar.gz
    curl --silent --show-error --fail --location --output "$fresh/$name.tar.gz" "$url" || return 1
    curl --silent --show-error --fail --location --output "$fresh/$name.tar.gz.sha256" "$url.sha256" || return 1
    (cd "$fresh" && sha256sum --check --quiet "$name.tar.gz.sha256") || { echo "$url is not what its hash says" >&2; exit 1; }
    tar -xzf "$fresh/$name.tar.gz" -C "$fresh"
    mkdir "$fresh/bin" && mv "$fresh/$name/ncugate" "$fresh/bin"
    case "$("$fresh/bin/ncugate" --version)" in
        "ncugate ${ACTION_REF#v}" | "ncugate ${ACTION_REF#v} "*) ;;
        *) echo "$url is another version, or does not run here" >&2; return 1 ;;
    esac
}

if [ -n "${BINARY:-}" ]; then
    program=$BINARY
else
    program=
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$SOURCE/Cargo.toml" | head -n 1)
    if [ -n "${ACTION_REPOSITORY:-}" ] && [ "${ACTION_REF:-}" = "v$version" ]; then
        name=ncugate-$ACTION_REF-$(uname -m)-unknown-linux-gnu
        root=$(cache)/$name
        mkdir -p "$(cache)"
        if [ ! -x "$root/bin/ncugate" ]; then
            fresh=$(mktemp -d "$root.XXXXXX")
            if fetch "$name" "$fresh"; then place "$fresh" "$root"; else rm -rf "$fresh"; fi
        fi
        [ ! -x "$root/bin/ncugate" ] || program=$root/bin/ncugate
    fi
    if [ -z "$program" ]; then
        sources=(Cargo.toml Cargo.lock build.rs src crates templates third_party)
        key=$(cd "$SOURCE" && find "${sources[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-32)
        root=$(cache)/$key
        program=$root/bin/ncugate
        if [ ! -x "$program" ]; then
            mkdir -p "$(dirname "$root")"
            fresh=$(mktemp -d "$root.XXXXXX")
            cargo install --locked --path "$SOURCE" --root "$fresh"
            place "$fresh" "$root"
        fi
    fi
fi
"$program" --version
echo "program=$program" >> "${GITHUB_OUTPUT:-/dev/null}"
