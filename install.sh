#!/bin/sh
# Installs the release of ncugate that this script belongs to, after the SHA-256 of its archive was verified.
#
# NCUGATE_INSTALL_DIR is the folder of the program (~/.local/bin). Nothing else is written.
# Ends with 1 if the archive is not the released one, and with 2 if there is none that runs here.
set -eu
version=0.1.0

# A function: an interrupted download of this script runs nothing.
main() {
    directory=${NCUGATE_INSTALL_DIR:-$HOME/.local/bin}
    name=ncugate-v$version-$(uname -m)-unknown-linux-gnu
    repository=${NCUGATE_REPOSITORY:-OWNER/ncugate}
    [ "${repository%%/*}" != OWNER ] || { echo "this script belongs to no release; build from source: cargo install --locked --path ." >&2; exit 2; }
    url=${NCUGATE_RELEASES:-https://github.com}/$repository/releases/download/v$version/$name.tar.gz
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    [ "$(uname -s)" = Linux ] || { echo "ncugate runs on Linux" >&2; exit 2; }
    for file in "$name.tar.gz" "$name.tar.gz.sha256"; do
        curl --silent --show-error --fail --location --output "$work/$file" "${url%/*}/$file" || { echo "cannot fetch ${url%/*}/$file" >&2; exit 2; }
    done
    (cd "$work" && sha256sum --check --quiet "$name.tar.gz.sha256") || { echo "$url is not what its hash says" >&2; exit 1; }
    tar -xzf "$work/$name.tar.gz" -C "$work"
    case "$("$work/$name/ncugate" --version)" in
        "ncugate $version" | "ncugate $version "*) ;;
        *) echo "$url is another version, or does not run here" >&2; exit 2 ;;
    esac
    mkdir -p "$directory"
    # A rename: a program that is running is not written to.
    mv "$work/$name/ncugate" "$directory/.ncugate.$$"
    mv "$directory/.ncugate.$$" "$directory/ncugate"
    echo "installed $directory/ncugate"
    case ":$PATH:" in *":$directory:"*) ;; *) echo "$directory is not on PATH" ;; esac
}

main
