#!/bin/sh
# usage: scripts/check-command-docs.sh MANUAL COMMANDS.DEF...
#
# Compare the rows of the tables of commands with their manual page: every command has an entry of
# its own there, with the synopsis of its row, and every entry has a command. Containers that only
# hold subcommands, their HELP, and commands that are always refused need none. CC is the C compiler
# that reads the table.

set -eu

# Print a command per line: the name in capitals and the synopsis, as in an entry.
manual=$1
shift
rows=$({
  echo '#define COMMAND(name, run, min, max, flags, cats, group, since, args, ...) ROW run name " " args'
  echo '#define QUEUE(name, run, op, decode, objects, forms, min, max, flags, group, args, ...) ROW run name " " args'
  cat "$@"
} | ${CC:-cc} -E -P -x c - | tr '\n' ' ' | sed 's/ROW /\n/g' | awk '
  $1 !~ /^(NULL|command_help|cmd_refuse_.*)$/ && sub(/^[^"]*"/, "") {
    sub(/" *$/, "")
    gsub(/" *"/, "")                       # adjacent literals are one
    name = toupper($1)
    sub(/[|]/, " ", name)
    $1 = name
    print
  }' | sort)

entries=$(awk '
  /^[.]Ss / {
    name = substr($0, 5)
    next
  }
  name != "" {
    if (index($0, ".Dl " name) != 1)
      print name " (no synopsis)"
    else
      print substr($0, 5)
    name = ""
  }' "$manual" | sort)

[ -n "$rows" ] || { echo "$*: no rows found" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf '%s\n' "$rows" >"$scratch/rows"
printf '%s\n' "$entries" >"$scratch/entries"
if ! diff "$scratch/rows" "$scratch/entries" >"$scratch/diff"; then
  sed -n "s|^< |$manual: missing or different: |p; s|^> |$manual: no such row: |p" "$scratch/diff"
  exit 1
fi
