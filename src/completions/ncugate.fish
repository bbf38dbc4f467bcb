# Completions of ncugate for fish: source this file, or install it as completions/ncugate.fish.
function __ncugate_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l found ($words[1] complete -- $words[2..-1] "$token" 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path "$token"
    end
end
complete -c ncugate -f -a '(__ncugate_complete)'
