# Functions of the guest's scripts. Descriptor 3 is the channel to the host: lines that begin with
# $TOKEN are for the harness, all else is what commands print.

word() { printf '\n%s %s\n' "$TOKEN" "$*" >&3; }

# refuse REASON: tells the host why this guest is of no use, and ends it.
refuse() {
  word refused "$*"
  exec 3>&-
  poweroff -f
  sleep 1000
}

# frame NAME FILE: sends a file.
frame() {
  gzip -1 -c "$2" >/run/frame
  read -r size _ <<SIZE
$(wc -c </run/frame)
SIZE
  printf '\n%s file %s %s\n' "$TOKEN" "$1" "$size" >&3
  cat /run/frame >&3
  rm /run/frame
}

# null_blk INDEX ATTRIBUTE=VALUE...: makes /dev/nullbINDEX.
null_blk() {
  local folder=/sys/kernel/config/nullb/nullb$1 pair
  shift
  [ -d /sys/kernel/config/nullb ] || refuse "the kernel's null_blk has no configfs"
  mkdir "$folder" || refuse "null_blk makes no device"
  for pair in "$@"; do
    [ -e "$folder/${pair%%=*}" ] || refuse "this kernel's null_blk has no attribute ${pair%%=*}"
    echo "${pair#*=}" >"$folder/${pair%%=*}" || refuse "null_blk refuses $pair"
  done
  echo 1 >"$folder/power" || refuse "null_blk refuses to start with $*"
}

# With a wrong name fio would make a regular file in /dev, and measure memory.
await_devices() {
  local device tries
  for device in $DEVICES; do
    tries=0
    while [ ! -b "$device" ]; do
      tries=$((tries + 1))
      [ $tries -lt 100 ] || refuse "the kernel shows no $device"
      sleep 0.05
    done
  done
}

make_file_system() {
  local device=${DEVICES%% *}
  case $FILE_SYSTEM in
    xfs) mkfs.xfs -q -f "$device" >/run/mkfs 2>&1 ;;
    ext4) mkfs.ext4 -q -F "$device" >/run/mkfs 2>&1 ;;
    *) return 0 ;;
  esac || refuse "mkfs.$FILE_SYSTEM: $(head -n 1 /run/mkfs)"
  mkdir -p "$MOUNT"
  mount -t "$FILE_SYSTEM" "$device" "$MOUNT" || refuse "the kernel mounts no $FILE_SYSTEM"
}

fact() { [ -z "$2" ] || printf '%s=%s\n' "$1" "$2" >>/run/facts; }

# file_fact KEY FILE: a small file's first line, without starting a program.
file_fact() {
  local line=
  if [ -r "$2" ]; then read -r line <"$2" 2>/dev/null; fi
  fact "$1" "$line"
}

# facts DEVICE: what the host calls an environment, of this guest. DEVICE is the sweep's target.
facts() {
  local name=${1##*/} key queue
  rm -f /run/facts
  fact kernel.release "$(uname -r)"
  fact kernel.version "$(uname -v)"
  file_fact kernel.cmdline /proc/cmdline
  file_fact kernel.clocksource /sys/devices/system/clocksource/clocksource0/current_clocksource
  file_fact kernel.thp /sys/kernel/mm/transparent_hugepage/enabled
  fact cpu.model "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
  fact cpu.count "$(grep -c ^processor /proc/cpuinfo)"
  file_fact target.poll_queues "/sys/module/nvme/parameters/poll_queues"
  [ -d "/sys/block/$name/queue" ] || return 0
  fact target.device "$name"
  file_fact target.model "/sys/block/$name/device/model"
  for key in scheduler nr_requests rotational nomerges rq_affinity io_poll write_cache \
    logical_block_size physical_block_size max_sectors_kb iostats; do
    file_fact "target.queue.$key" "/sys/block/$name/queue/$key"
  done
}

# counts FILE: clock, idle time and completed I/Os of each device, at this moment.
counts() {
  local device line
  grep -E '^now at|^cpu:|idle_sleeptime|iowait_sleeptime' /proc/timer_list >"$1"
  for device in $DEVICES; do
    read -r line <"/sys/block/${device##*/}/stat"
    echo "stat ${device##*/} $line" >>"$1"
  done
}

# lay_out JOB: writes test files in full.
lay_out() {
  mkdir -p /run/fill
  cd /run/fill
  fio --eta=never "$1" >out 2>&1 || refuse "fio can't lay out the files: $(grep -v '^$' out | head -n 1)"
  cd /
}

# fio_warm JOB...: a run of the first job, for what only the first program of a guest pays.
fio_warm() {
  (cd "${1%/*}" && fio --output-format=json+ --output=/run/warm --eta=never "$1" >/dev/null 2>&1 </dev/null)
}

# fio_run NUMBER real|virtual [OPTION...]: one run of a sweep, in its folder. With the virtual clock a
# shorter one goes before it, whose start and end are taken off.
fio_run() {
  local number=$1 clock=$2 status file
  shift 2
  if [ "$clock" = virtual ]; then
    counts counts-0
    fio --output-format=json+ --output=short.json --eta=never "$@" short.fio >/dev/null 2>&1 </dev/null
    counts counts-1
    counts counts-2
  fi
  fio --output-format=json+ --output=fio.json --eta=never "$@" job.fio \
    >stdout.txt 2>stderr.txt </dev/null
  status=$?
  [ "$clock" = real ] || counts counts-3
  for file in *; do
    case $file in
      job.fio | short.fio) ;;
      *) [ ! -s "$file" ] || frame "$file" "$file" ;;
    esac
  done
  cd /
  rm -rf "/runs/$number"
  word done "$status"
}
