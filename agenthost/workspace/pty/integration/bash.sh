# Shell integration for bash: tells each command, its exit code and the folder by OSC 633.
# Started by:  bash --init-file bash.sh -i
# Environment in: AHP_SI_NONCE (random per terminal), AHP_SI_LOGIN=1 to imitate a login shell,
# AHP_SI_AGENT=1 to keep lines that begin with a space out of the history.
# C and D carry the secret too, so that a program cannot end its own command by printing a mark.

# 1. Take the secret, then hide it from every child process.
__ahp_nonce=${AHP_SI_NONCE-}; unset AHP_SI_NONCE; declare +x __ahp_nonce
__ahp_agent=${AHP_SI_AGENT-}; unset AHP_SI_AGENT

# 2. --init-file replaced the user's own startup, so run it ourselves.
if [ -n "${AHP_SI_LOGIN-}" ]; then
    unset AHP_SI_LOGIN
    [ -r /etc/profile ] && . /etc/profile
    for __ahp_f in ~/.bash_profile ~/.bash_login ~/.profile; do
        [ -r "$__ahp_f" ] && { . "$__ahp_f"; break; }
    done
    unset __ahp_f
else
    [ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
    [ -r ~/.bashrc ] && . ~/.bashrc
fi

# 3. Interactive only, and only once.
case $- in *i*) ;; *) return 0 ;; esac
[ -n "${__ahp_loaded-}" ] && return 0
# Where the user's startup does not let prompts be changed, or expanded, the shell tells nothing.
( unset PROMPT_COMMAND && PS0='' PS1='' && shopt -q promptvars ) 2>/dev/null || return 0
__ahp_loaded=1 __ahp_running='' __ahp_ps1='' __ahp_hist='' __ahp_zero=0

[ -n "$__ahp_agent" ] && HISTCONTROL=ignorespace${HISTCONTROL:+:$HISTCONTROL}
unset __ahp_agent

__ahp_osc() { builtin printf '\033]633;%s\007' "$1"; }

# 4. Value encoding: backslash, semicolon, every control byte.
__ahp_encode() {
    local LC_ALL=C s=$1 bs='\' n c hex
    s=${s//"$bs"/"$bs$bs"}
    s=${s//";"/"${bs}x3b"}
    if [[ $s == *[[:cntrl:]]* ]]; then
        for n in {1..31} 127; do
            builtin printf -v hex '%02x' "$n"
            builtin printf -v c "${bs}x$hex"
            s=${s//"$c"/"${bs}x$hex"}
        done
    fi
    __ahp_encoded=$s
}

# 5. Text of the line just accepted, from the history list ('' when not recorded).
__ahp_line() {
    local h re='^ *([0-9]+)[* ] (.*)$'
    h=$(HISTTIMEFORMAT='' builtin history 1)
    __ahp_text=''
    [[ $h =~ $re ]] || return 0
    [[ ${BASH_REMATCH[1]} == "$__ahp_hist" ]] && return 0
    __ahp_text=${BASH_REMATCH[2]}
}

__ahp_preexec() {                       # runs just before the command does
    __ahp_line
    [[ -z $__ahp_text ]] && __ahp_text=${1-}
    (( ${#__ahp_text} > 16384 )) && __ahp_text=''   # the host holds no longer marks
    __ahp_encode "$__ahp_text"          # may be empty: "text unknown, but the nonce is good"
    __ahp_osc "E;$__ahp_encoded;$__ahp_nonce"
    __ahp_osc "C;$__ahp_nonce"
}

# 6. Before each prompt: D, then the user's own prompt commands, then cwd, then PS1.
__ahp_status() { return "$1"; }
__ahp_precmd() {
    local st=$? c
    [[ -n $__ahp_running ]] && __ahp_osc "D;$st;$__ahp_nonce"
    __ahp_running=''
    for c in "${__ahp_user_pc[@]}"; do
        __ahp_status "$st"
        builtin eval "$c"
    done
    __ahp_encode "$PWD"; __ahp_osc "P;Cwd=$__ahp_encoded"
    if [[ ${PS1-} != "$__ahp_ps1" ]]; then # new prompt (theme, venv, user): wrap it again
        local a='\[\e]633;A\a\]' b='\[\e]633;B\a\]'
        PS1=${PS1-} PS1=${PS1//"$a"/} PS1=${PS1//"$b"/}
        PS1=$a$PS1$b __ahp_ps1=$PS1
    fi
    [[ $(HISTTIMEFORMAT='' builtin history 1) =~ ^\ *([0-9]+) ]] && __ahp_hist=${BASH_REMATCH[1]}
    __ahp_armed=1
    __ahp_status "$st"
}
__ahp_user_pc=()
[[ -n ${PROMPT_COMMAND-} ]] && __ahp_user_pc=("${PROMPT_COMMAND[@]}")
unset PROMPT_COMMAND
PROMPT_COMMAND=__ahp_precmd

# 7. The pre-execution hook.
if (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404 )); then
    # PS0 is expanded only for a non-empty command. The arithmetic sets the flag in
    # THIS shell; the command substitution emits E and C.
    PS0=${PS0-}'${__ahp_zero:$((__ahp_running=1,0)):0}$(__ahp_preexec)'
else
    # Old bash (macOS 3.2): DEBUG trap, armed once per prompt.
    __ahp_debug() {
        [[ -n ${COMP_LINE-} || -z ${__ahp_armed-} || $BASH_COMMAND == __ahp_precmd ]] && return 0
        __ahp_armed='' __ahp_running=1
        __ahp_preexec "$BASH_COMMAND"
    }
    trap '__ahp_debug' DEBUG
fi
