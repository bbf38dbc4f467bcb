#compdef ncugate
# Completions of ncugate for zsh: source this file, or install it as _ncugate in a folder of $fpath.
_ncugate() {
    local -a candidates shown
    local candidate about
    while IFS=$'\t' read -r candidate about; do
        candidates+=("$candidate")
        shown+=("$candidate${about:+  -- $about}")
    done < <("$words[1]" complete -- "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
    if (( $#candidates )); then
        compadd -l -d shown -a candidates
    else
        _files
    fi
}
if [[ $funcstack[1] == _ncugate ]]; then
    _ncugate "$@"
else
    compdef _ncugate ncugate
fi
