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

# Fetches the release into a folder. Ends with 2 if no release exists or runs here; a wrong hash ends the script.
fetch() {
    local status=0
    NCUGATE_INSTALL_DIR=$1/bin NCUGATE_REPOSITORY=$ACTION_REPOSITORY \
        NCUGATE_RELEASES=${RELEASES:-${GITHUB_SERVER_URL:-https://github.com}} sh "$SOURCE/install.sh" || status=$?
    [ "$status" -ne 1 ] || exit 1
    return "$status"
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
            if fetch "$fresh"; then place "$fresh" "$root"; else rm -rf "$fresh"; fi
        fi
        [ ! -x "$root/bin/ncugate" ] || program=$root/bin/ncugate
    fi
    if [ -z "$program" ]; then
        sources=(Cargo.toml Cargo.lock build.rs src crates templates third_party)
        key=$(cd "$SOURCE" && find -L "${sources[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-32)
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
