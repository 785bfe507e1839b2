#!/bin/busybox sh
# Records what reaches a device, and looks at every state that a power cut could have left.
#
#   log-writes record COMMAND...   runs COMMAND; what it writes to $LOGGED is recorded
#   log-writes mark NAME           in COMMAND: "what is durable now must survive"
#   log-writes check COMMAND...    after: for each mark $LOGGED is made what a power cut there had
#                                  left, and COMMAND looks at it, with $MARK; 0 means that it is fine
#
# The guest's first device is what is recorded, all zeros at first; the second one takes the log.
# A mark stands behind what was flushed before it: writes that no flush followed come after.

. /job/settings
device=${DEVICES%% *}
log=${DEVICES#* }
log=${log%% *}
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
  exit 2
}
[ $# -ge 2 ] || usage
verb=$1
shift
case $verb in
  record)
    table="0 $(blockdev --getsz "$device") log-writes $device $log"
    dmsetup create logged --noudevsync --table "$table" || exit 1
    dmsetup mknodes logged
    LOGGED=/dev/mapper/logged "$@"
    status=$?
    sync
    dmsetup remove --noudevsync --retry logged || exit 1
    exit $status
    ;;
  mark) exec dmsetup message logged 0 mark "$1" ;;
  check) exec python3 -I -S -B /usr/lib/sluice/replay.py "$device" "$log" "$@" ;;
  *) usage ;;
esac
