# fish completion for elect: offers the candidates that /usr/libexec/elect/candidates prints.
function __elect_candidates
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for line in (/usr/libexec/elect/candidates $words "$last" 2>/dev/null)
        switch $line
            case :files
                set -l option (string match -r -- '^--[^=]*=' "$last")
                for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$last"))
                    echo "$option$path"
                end
            case ':command *'
                set -l from (math (string replace ':command ' '' -- $line) + 1)
                complete -C (string join -- ' ' $words[$from..] "$last")
            case '*'
                echo $line
        end
    end
end
complete -c elect -f -a '(__elect_candidates)'
