# Completion of qless for bash. The program itself knows what may follow.

_qless() {
  local line current words cword

  # bash takes a word with a colon for several words; queues may have such names.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n := -c current -w words -i cword
  else
    words=("${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    current=${words[cword]}
  fi
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    else
      line=${line%%$'\t'*}
      COMPREPLY+=("$(printf '%q' "$line")")
    fi
  done < <("${words[0]}" __complete -- "${words[@]:1:cword}" 2>/dev/null)
  if declare -F __ltrim_colon_completions >/dev/null; then
    __ltrim_colon_completions "$current"
  fi
}

complete -F _qless qless
