# Shell integration for zsh: tells each command, its exit code and the folder by OSC 633.
# Started by:
#   ZDOTDIR=<private dir>  AHP_SI_ZDOTDIR=<user's ZDOTDIR or empty>  AHP_SI_NONCE=...  zsh -i [-l]

# 1. Hand ZDOTDIR back at once: zsh re-reads it for .zprofile/.zshrc/.zlogin, so this
#    one file is the only shim needed.
if [[ -n ${AHP_SI_ZDOTDIR-} ]]; then ZDOTDIR=$AHP_SI_ZDOTDIR; else unset ZDOTDIR; fi
unset AHP_SI_ZDOTDIR
typeset -g __ahp_nonce=${AHP_SI_NONCE-}; unset AHP_SI_NONCE

# 2. The user's own .zshenv (which may itself move ZDOTDIR).
[[ -r ${ZDOTDIR:-$HOME}/.zshenv ]] && source ${ZDOTDIR:-$HOME}/.zshenv

# 3. Nothing more for scripts.
[[ -o interactive ]] || return 0

__ahp_osc() { builtin print -rn -- $'\e]633;'$1$'\a' }

__ahp_encode() {                        # sets REPLY
  emulate -L zsh
  local LC_ALL=C s=$1 hex c
  local -i n
  s=${s//\\/\\\\}
  s=${s//;/\\x3b}
  if [[ $s == *[[:cntrl:]]* ]]; then
    for n in {1..31} 127; do
      builtin printf -v hex '%02x' $n
      builtin printf -v c "\\x$hex"
      s=${s//$c/\\x$hex}
    done
  fi
  REPLY=$s
}

__ahp_preexec() {
  emulate -L zsh
  local REPLY text=$1                   # $1 as typed; empty when history is off
  [[ -n $text ]] || text=$3             # $3 = full text, aliases expanded
  (( ${#text} > 16384 )) && text=       # the host holds no longer marks
  __ahp_encode $text
  __ahp_osc "E;$REPLY;$__ahp_nonce"
  __ahp_osc "C;$__ahp_nonce"
  typeset -g __ahp_running=1
}

__ahp_done() {                          # first hook: close the command
  local -i st=$?                        # every precmd hook sees the command's own status
  [[ -n $__ahp_running ]] && __ahp_osc "D;$st;$__ahp_nonce"
  typeset -g __ahp_running=
}

__ahp_prompt() {                        # last hook: cwd, then wrap whatever PS1 is now
  emulate -L zsh
  local REPLY
  __ahp_encode $PWD; __ahp_osc "P;Cwd=$REPLY"
  if [[ $PS1 != $__ahp_ps1 ]]; then
    local a=$'%{\e]633;A\a%}' b=$'%{\e]633;B\a%}'
    PS1=$a${${PS1//$a/}//$b/}$b
    typeset -g __ahp_ps1=$PS1
  fi
  # Keep our two hooks outermost even if a plugin was loaded meanwhile.
  precmd_functions=(__ahp_done ${precmd_functions:#__ahp_(done|prompt)} __ahp_prompt)
}

# 4. rc files have not run yet: install at the first prompt, after all of them.
__ahp_install() {
  precmd_functions=(__ahp_done ${precmd_functions:#__ahp_install} __ahp_prompt)
  preexec_functions+=(__ahp_preexec)
  unfunction __ahp_install
  typeset -g __ahp_running= __ahp_ps1=
  # The end-of-line mark would count as output of the command before it.
  [[ -n ${AHP_SI_AGENT-} ]] && { unsetopt prompt_sp; setopt hist_ignore_space; }
  unset AHP_SI_AGENT
  __ahp_prompt
}
typeset -ga precmd_functions preexec_functions
precmd_functions+=(__ahp_install)
