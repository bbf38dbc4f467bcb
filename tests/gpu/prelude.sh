# shellcheck shell=bash
# Sourced by scripts that measure a project of their own, with the program as their first argument: `$ncugate`, a folder `$work` for
# the time of the script, an empty cache, an author for git, and `check`, which sets `$failed`. At the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ncugate=$(realpath "$(command -v "${1:-ncugate}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NCUGATE_CACHE="$work/cache" GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
failed=0
check() { # what, command that holds
    local what=$1
    shift
    "$@" || { failed=1; echo "FAILED: $what"; }
}
lacks() { ! grep -q "$1" "$2"; }
