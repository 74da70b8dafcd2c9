# Bash completion for orrery. The options come from the command's own --help.
# shellcheck shell=bash
_orrery() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[0]} sub=${COMP_WORDS[1]:-}
    local choices=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        choices="run page record app cluster capture cl info gpu node hw correlate tune sample sweep explain diff compare list show disasm help --help --version"
    else
        case $before in
        --gpu) choices=$("$command" gpu list --names 2>/dev/null) ;;
        --model) choices="functional" ;;
        --size) choices="small medium large" ;;
        --source) choices="ptx sass" ;;
        --on) choices="cpu gpu" ;;
        --output | -o | --threads | --set | --kernel | --grid | --block | --shared | --global | --local | --build | --arg | --max-insts | --repeat | --kernels | --launches | --arch | --images) ;;
        *)
            if [[ $word == -* ]]; then
                choices=$("$command" "$sub" --help 2>/dev/null | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
            else
                case $sub in
                help) choices="run page record app cluster capture cl info gpu node hw correlate tune sample sweep explain diff compare list show disasm" ;;
                gpu)
                    if [ "$COMP_CWORD" -eq 2 ]; then choices="list show"; else choices=$("$command" gpu list --names 2>/dev/null); fi
                    ;;
                hw) if [ "$COMP_CWORD" -eq 2 ]; then choices="run profile micro"; else choices=$("$command" list --names 2>/dev/null); fi ;;
                run | record | sweep | explain | diff | compare) choices=$("$command" list --names 2>/dev/null) ;;
                esac
            fi
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
    if [ ${#COMPREPLY[@]} -eq 0 ]; then mapfile -t COMPREPLY < <(compgen -f -- "$word"); fi
}
complete -o filenames -F _orrery orrery
