# Completion of qless for fish. The program itself knows what may follow.

function __qless_complete
    set -l words (commandline --tokenize --current-process --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    for line in ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            echo -- $line
        end
    end
end

complete --command qless --no-files --arguments '(__qless_complete)'
