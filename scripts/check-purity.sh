#!/bin/sh
# usage: scripts/check-purity.sh LIBRARY...
#
# Check the static libraries of the pure layers: no I/O, no clock, no randomness, no global state.
# External functions must be on the list below, and the libraries must have no writable data.

set -eu

# A listed function depends only on its arguments and changes nothing else. The exceptions are memory,
# and errno, which strtod and similar functions need.
export allowed='
  malloc calloc realloc aligned_alloc free madvise
  memcpy memmove memset memcmp memchr memrchr memmem bcmp
  strlen strnlen strcmp strncmp strchr strrchr strstr strspn strcspn
  strtod strtol strtoll strtoul strtoull snprintf vsnprintf __errno_location
  floor ceil fmin fmax round trunc rint lround llround fabs fmod modf frexp ldexp
  log log2 log10 exp pow sqrt nextafter
  qsort bsearch
  __udivti3 __umodti3 __udivmodti4
  abort __assert_fail __stack_chk_fail _GLOBAL_OFFSET_TABLE_'

# nm prints a symbol a line: name | value | class | type | size | line | section.
symbols=$(nm --format=sysv "$@")
printf '%s\n' "$symbols" | awk -F ' *[|] *' '
  function complain(text) {
    print text
    impure = 1
  }

  /^Symbols from / {
    object = $0
    gsub(/^.*[\/[ ]|[]:]*$/, "", object)
  }

  NF == 7 && $3 ~ /^[Uw]$/ {
    needed_by[$1] = object
  }

  NF == 7 && $3 !~ /^[Uw]$/ {
    symbols++
    if ($3 == toupper($3))
      exported[$1] = 1
    # A constant that holds addresses is in .data.rel.ro: read-only once the program has started.
    if ($7 ~ /^([.]data|[.]bss|[.]tdata|[.]tbss|[*]COM[*])/ && $7 !~ /^[.]data[.]rel[.]ro/)
      complain(object ": " $1 " is global data that can be written to")
  }

  END {
    count = split(ENVIRON["allowed"], names, " ")
    for (i = 1; i <= count; i++)
      exported[names[i]] = 1
    for (name in needed_by) {
      plain = name
      sub(/^__isoc(99|23)_/, "", plain)      # strtol of a newer C
      if (plain ~ /^__.*_chk$/)              # memcpy under _FORTIFY_SOURCE
        plain = substr(plain, 3, length(plain) - 6)
      if (!(name in exported) && !(plain in exported) && name !~ /^(XXH|raft_)/)
        complain(needed_by[name] ": " name " is not on the list of pure functions")
    }
    if (symbols == 0)
      complain("no symbols found in any library")
    exit impure
  }'
