#!/bin/busybox sh
# The guest's first program: file systems, modules, devices, then /job/main, then power off.
# What it prints is on the console; what the host reads goes to the channel (see lib.sh).

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/shm /run /tmp
mount -t tmpfs tmp /dev/shm
mount -t tmpfs tmp /run
ln -sf /proc/self/fd /dev/fd
stty -F /dev/ttyS1 raw -echo
exec 3>/dev/ttyS1
ulimit -l unlimited

. /job/settings
. /lib-sluice.sh

for module in $MODULES; do
  options=
  [ "$module" != null_blk ] || options=nr_devices=0 # ours come from configfs
  insmod "/job/modules/$module.ko" $options || refuse "the kernel doesn't load module $module"
done
if [ -d /sys/kernel/config ]; then
  mount -t configfs config /sys/kernel/config
fi
. /job/devices
await_devices
make_file_system

[ "$SETTLE" = 0 ] || sleep "$SETTLE"
word ready
. /job/main
word off
exec 3>&- # waits until all of it is out
poweroff -f
