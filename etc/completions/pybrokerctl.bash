_pybrokerctl_completion() {
    local response completion type value
    response=$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" _PYBROKERCTL_COMPLETE=bash_complete "$1")
    COMPREPLY=()
    while IFS= read -r completion; do
        type=${completion%%,*}
        value=${completion#*,}
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done <<< "$response"
}

complete -o nosort -F _pybrokerctl_completion pybrokerctl
