#!/usr/bin/env bash
# The step of action.yml. Its inputs are the variables CONFIG, PROFILE, AGAINST, BASE, RECORD, COMMENT, FAIL_ON_VERDICT, and
# NCUGATE, the program.
# Writes `status=N` to GITHUB_OUTPUT and ends with that status.
set -uo pipefail
ncugate=${NCUGATE:?the step that installs ncugate names its program}

arguments=()
if [ -n "${AGAINST:-}" ]; then arguments+=(--against "$AGAINST"); fi
if [ -n "${COMMENT:-}" ]; then arguments+=(--comment "$COMMENT"); fi

started=$(mktemp)
if [ -n "${PROFILE:-}" ]; then
    "$ncugate" gate "$CONFIG" "$PROFILE" "${arguments[@]}"
else
    if [ -n "${BASE:-}" ]; then arguments+=(--base "$BASE"); fi
    "$ncugate" run "$CONFIG" --source gpu --fresh "${arguments[@]}"
fi
status=$?

# The run just measured: its manifest is newer than the start of this script.
if [ -z "${PROFILE:-}" ] && [ -n "${RECORD:-}" ] && [ "$status" -ne 2 ]; then
    manifest=$(find profiles -mindepth 3 -maxdepth 3 -name manifest.json -newer "$started" | sort | tail -n 1)
    if [ -n "$manifest" ]; then
        "$ncugate" record "$(dirname "$manifest")" --output "$RECORD" || status=3
    else
        echo "no run was written, so nothing is recorded" >&2
        status=3
    fi
fi
rm -f "$started"

echo "status=$status" >> "${GITHUB_OUTPUT:-/dev/null}"
case "$status:${FAIL_ON_VERDICT:-true}" in
    1:false | 4:false) exit 0 ;;
    *) exit "$status" ;;
esac
