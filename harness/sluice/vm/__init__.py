"""Guests: fio and our own sweeps in a kernel of choice, on emulated devices, under QEMU.

    cli, run, sweep, listing           the verbs
    executor, session, measured        a sweep's runs in guests; figures of the virtual clock
    guest, channel, console            a running guest: what it says, how it ended
    script, seed (init.sh, lib.sh)     what happens inside
    initramfs, cpio, carry, modules    what goes in
    machine, nullblk, qemu, accel      what it consists of
    kernels, apt, cache                which kernel, and from where

Nothing of a guest has a name on disk: its images, its initramfs and what it prints are files
without one, and QEMU ends with the harness. So nothing is left behind, however that ends.
"""
