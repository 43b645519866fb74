# bash completion for elect: offers the candidates that /usr/libexec/elect/candidates prints.
_elect()
{
    local cur=${COMP_WORDS[COMP_CWORD]#=} line words=()
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) compopt -o default 2>/dev/null ;;
        :command*)
            compopt -o default 2>/dev/null
            if declare -F _command_offset >/dev/null; then
                _command_offset "${line#* }"
            elif [[ $COMP_CWORD == "${line#* }" ]]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            fi
            return ;;
        *) words+=("${line%%$'\t'*}") ;;
        esac
    done < <(/usr/libexec/elect/candidates "${COMP_WORDS[@]:0:COMP_CWORD}" "$cur" 2>/dev/null)
    mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
}
complete -F _elect elect
