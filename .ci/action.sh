#!/usr/bin/env bash
# The step of action.yml. Its inputs are the variables CONFIGS, PROFILE, AGAINST, BASE, RECORD, FAIL_ON_VERDICT, FORK, WAIVERS
# (a file with one a line), and NCUGATE, the program.
# Writes `status=N` and `comments=FOLDER` to GITHUB_OUTPUT and ends with that status.
set -uo pipefail
ncugate=${NCUGATE:?the step that installs ncugate names its program}
status=0

# ncugate without the runner's files, in which later steps find variables and programs, and without tokens: measured code
# inherits its environment.
measure() {
    local name hidden=(-u GITHUB_ENV -u GITHUB_PATH -u GITHUB_OUTPUT -u GITHUB_STATE -u GITHUB_TOKEN -u GH_TOKEN)
    for name in $(compgen -A export ACTIONS_); do hidden+=(-u "$name"); done
    env "${hidden[@]}" "$ncugate" "$@"
}

arguments=()
if [ -n "${AGAINST:-}" ]; then arguments+=(--against "$AGAINST"); fi
if [ -z "${PROFILE:-}" ]; then
    arguments+=(--source gpu --fresh)
    if [ -n "${BASE:-}" ]; then arguments+=(--base "$BASE"); fi
fi
if [ -s "${WAIVERS:-}" ]; then
    mapfile -t waivers < "$WAIVERS"
    arguments+=("${waivers[@]/#/--waive=}")
fi

# Words of the value, with globs expanded; nothing of it is a program.
# shellcheck disable=SC2206
configs=(${CONFIGS:-})
comments=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/ncugate-comments.XXXXXX")
started=$(mktemp)
if [ "${#configs[@]}" -eq 0 ]; then
    echo "::error::\`configs\` names no phase"
    status=2
elif [ "${#configs[@]}" -gt 1 ] && [ -n "${PROFILE:-}${RECORD:-}" ]; then
    echo "::error::\`profile\` and \`record\` take one phase, and \`configs\` names ${#configs[@]}"
    status=2
elif [ -n "${PROFILE:-}" ]; then
    measure gate "${arguments[@]}" --comment "$comments/comment.md" -- "${configs[0]}" "$PROFILE"
    status=$?
else
    measure run "${arguments[@]}" --comment "$comments/comment.md" -- "${configs[@]}"
    status=$?
fi

if [ "$status" -eq 3 ] && [ "${FORK:-}" = true ]; then
    echo "::error::a fork's change is measured after a maintainer has pushed it to a branch of this repository"
fi

# The run just measured: its manifest is newer than the start of this script.
if [ -z "${PROFILE:-}" ] && [ -n "${RECORD:-}" ] && [ "$status" -ne 2 ]; then
    manifest=$(find profiles -mindepth 3 -maxdepth 3 -name manifest.json -newer "$started" | sort | tail -n 1)
    if [ -n "$manifest" ]; then
        "$ncugate" tools record "$(dirname "$manifest")" --output "$RECORD" || status=3
    else
        echo "no run was written, so nothing is recorded" >&2
        status=3
    fi
fi
rm -f "$started"

{
    echo "status=$status"
    echo "comments=$comments"
} >> "${GITHUB_OUTPUT:-/dev/null}"
case "$status:${FAIL_ON_VERDICT:-true}" in
    1:false | 4:false) exit 0 ;;
    *) exit "$status" ;;
esac
