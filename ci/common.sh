# Shell functions that the scripts of this folder share. Sourced, never run.
#
# The sourcing script sets `me` (its own name, the prefix of what it says) and runs with
# `set -euo pipefail`. After sourcing, `root` is the source tree and `build` the build tree.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
logs=$build/log

say() { printf '%s: %s\n' "$me" "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# Prints the comment block at the head of the calling script: its -h text.
usage() {
  sed -n '2,/^$/{/^#/!q;s/^# \{0,1\}//;p}' "$0"
}

# run_logged LOG COMMAND...: COMMAND's whole output goes to build/log/LOG; its tail is shown if it fails.
run_logged() {
  local log=$logs/$1 status=0
  shift
  mkdir -p "$logs"
  "$@" >"$log" 2>&1 9>&- || status=$?
  if ((status != 0)); then
    say "failed ($status): $*"
    tail -n "${LOG_TAIL:-40}" "$log" >&2
    say "whole output: $log"
  fi
  return "$status"
}

# Root's rights for what needs them, by sudo if we are not root ourselves.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "needs root's rights for: $* (run as root, or install sudo)"
  fi
}

# Those of the named packages that are not installed, one a line.
packages_missing() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] ||
      printf '%s\n' "$package"
  done
}

# lock NAME: holds build/.lock-NAME until the script ends, so that two runs do not write one folder.
# Descriptor 9 is the lock; run_logged closes it for what might live on.
lock() {
  mkdir -p "$build"
  exec 9>"$build/.lock-$1"
  flock -n 9 || {
    say "waiting for another run to finish"
    flock 9
  }
}
