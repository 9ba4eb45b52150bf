# Shared by run, test and check: paths, and how to set up and build a build directory.
# Source it after `set -euo pipefail`. Messages go to standard error.
# shellcheck shell=bash

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)

say() {
  echo "scripts/${0##*/}: $*" >&2
}

# Print the comment at the top of the calling script, which is its manual.
usage() {
  sed -n '2,/^$/ s/^# \{0,1\}//p' "$0"
}

# quietly COMMAND...: print the output of a command only if it fails.
quietly() {
  local output
  output=$("$@" 2>&1) || {
    local status=$?
    printf '%s\n' "$output" >&2
    return "$status"
  }
}

# configure DIR OPTION...: set up a build directory, from scratch if its options have changed. The
# stamp contains the options, so that an unchanged directory takes no time.
configure() {
  local dir=$root/$1
  shift
  local stamp="$root ${CC:-cc} $*"
  if [[ -f $dir/build.ninja && $(cat "$dir/setup-stamp" 2>/dev/null) == "$stamp" ]]; then
    return
  fi
  say "setting up ${dir#"$root"/}/"
  local wipe=()
  if [[ -f $dir/meson-private/coredata.dat ]]; then
    wipe=(--wipe)
  fi
  quietly meson setup "${wipe[@]}" "$@" "$dir" "$root"
  echo "$stamp" >"$dir/setup-stamp"
}

# build DIR [TARGET...]
build() {
  local dir=$root/$1
  shift
  quietly ninja -C "$dir" build.ninja # meson's part, if a meson.build has changed
  if [[ $(ninja -C "$dir" -n "$@") != *"no work to do"* ]]; then
    say "building ${dir#"$root"/}/"
    ninja -C "$dir" --quiet "$@" >&2
  fi
}
