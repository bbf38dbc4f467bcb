# Completions of ncugate for bash: source this file, or install it as bash-completion/completions/ncugate.
_ncugate() {
    local line=${COMP_LINE:0:COMP_POINT} word tail candidate
    local -a words
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[${#words[@]} - 1]}
    # readline replaces only the part after the last of these characters
    tail=${word##*[=:@]}
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        COMPREPLY+=("${candidate#"${word%"$tail"}"}")
    done < <("${COMP_WORDS[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -o bashdefault -o default -F _ncugate ncugate
