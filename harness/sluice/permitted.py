"""Which of fio's options a job of a sweep may have.

fio has options that name files, delete them, run programs or set up the machine, and ``--readonly``
stops few of them. So the options that are taken are listed, and all others are refused: one that a
later fio brings can't do harm before somebody has looked at it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sluice.errors import SluiceError, near
from sluice.jobfile import JobFile

PLACED = ("filename", "directory", "opendir", "filename_format", "unique_filename")
"""Say where the data lies. That is the sweep's part, so they are dropped from job files."""

REFUSED = {
    "exec_prerun": "it runs a program",
    "exec_postrun": "it runs a program",
    "read_iolog": "the files of the log would be read and written, whosever they are",
    "replay_redirect": "it names a device to be written",
    "merge_blktrace_file": "it names a file to be written",
    "profile": "it replaces the job by another one",
    "unlink": "it deletes the file or files that the job works on, also when it only reads",
    "unlink_each_loop": "it deletes the file or files that the job works on",
    "fill_device": "it fills the file system",
    "fill_fs": "it fills the file system",
    "allow_mounted_write": "it lets fio write to mounted devices",
    "ioscheduler": "it changes the machine for everybody and stays changed",
    "cgroup": "it changes the machine's control groups",
    "cgroup_weight": "it changes the machine's control groups",
    "cgroup_nodelete": "it changes the machine's control groups",
}
"""Option: why no job of a sweep has it."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOGS = _words("write_iolog write_bw_log write_lat_log write_iops_log write_hist_log")
"""Write files with names of the job's choice: taken without a folder, into the run's own."""

_TAKEN = _words(
    """
    description name wait_for lockfile rw readwrite bs blocksize ba blockalign bsrange
    blocksize_range bssplit bs_unaligned blocksize_unaligned randrepeat randseed norandommap
    ignore_error rw_sequencer ioengine iodepth iodepth_batch iodepth_batch_submit
    iodepth_batch_complete_min iodepth_batch_complete iodepth_batch_complete_max iodepth_low
    serialize_overlap io_submit_mode size io_size io_limit filesize file_append offset fileoffset
    offset_increment offset_align number_ios random_generator random_distribution percentage_random
    allrandrepeat nrfiles nr_files file_service_type openfiles fallocate fadvise_hint fadvise fsync
    fdatasync write_barrier sync_file_range direct atomic buffered overwrite loops numjobs
    startdelay start_delay runtime timeout time_based verify_only ramp_time clocksource mem iomem
    iomem_align mem_align verify do_verify verify_interval header_interval verify_offset
    header_offset verifysort verifysort_nr verify_pattern verify_fatal verify_dump verify_async
    verify_async_cpus verify_backlog verify_backlog_batch experimental_verify verify_state_load
    verify_state_save verify_header_seed verify_write_sequence trim_percentage trim_verify_zero
    trim_backlog trim_backlog_batch read_iolog_chunked replay_no_stall replay_scale replay_align
    replay_time_scale replay_skip merge_blktrace_scalars merge_blktrace_iters zonemode zonesize
    zonecapacity zonerange zoneskip read_beyond_wp max_open_zones job_max_open_zones
    ignore_zone_limits zone_reset_threshold zone_reset_frequency lockmem rwmixread rwmixwrite
    rwmixcycle nice prio prioclass priohint thinktime thinktime_spin thinktime_blocks
    thinktime_blocks_type thinktime_iotime rate rate_min ratemin rate_process rate_cycle
    ratecycle rate_ignore_thinktime rate_iops rate_iops_min max_latency latency_target
    latency_window latency_percentile latency_run invalidate sync write_hint create_serialize
    create_fsync create_on_open allow_file_create pre_read cpumask cpus_allowed cpus_allowed_policy
    numa_cpu_nodes numa_mem_policy end_fsync fsync_on_close exitall exit_what exitall_on_error
    stonewall wait_for_previous new_group thread per_job_logs bwavgtime iopsavgtime log_entries
    log_avg_msec log_hist_msec log_hist_coarseness log_max_value log_window_value log_offset
    log_prio log_issue_time log_compression log_compression_cpus log_store_compressed log_unix_epoch
    log_alternate_epoch log_alternate_epoch_clock_id block_error_percentiles group_reporting stats
    zero_buffers refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage
    buffer_compress_chunk dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global
    clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures disk_util
    gtod_reduce disable_lat disable_clat disable_slat disable_bw_measurement disable_bw gtod_cpu
    unified_rw_reporting continue_on_error error_dump uid gid kb_base unit_base hugepage-size
    flow_id flow flow_watermark flow_sleep steadystate ss steadystate_duration ss_dur
    steadystate_ramp_time ss_ramp num_range fdp fdp_pli plids dataplacement
    """
)

BUILT_IN = _words(
    """
    hipri hipri_percentage cmdprio_percentage cmdprio_class cmdprio cmdprio_hint cmdprio_bssplit
    fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored uncached nowait force_async
    userspace_reap libaio_vectored cpuload cpuchunks cpumode exit_on_io_done thp
    """
)
"""Options of fio's own engines that name nothing and nobody."""

ENGINES_REFUSED = {
    "exec": "it runs programs",
    **dict.fromkeys(("filedelete", "dirdelete"), "it deletes files, also when it only reads"),
    **dict.fromkeys(("filecreate", "dircreate", "filestat", "dirstat"), "it does no I/O to a file"),
    **dict.fromkeys(("falloc", "ftruncate", "e4defrag"), "it changes files without writing them"),
    **dict.fromkeys(
        _words("net netsplice rdma http nbd nfs rbd rados gfapi gfapi_async libhdfs mtd"),
        "it works on what isn't a file or device of this machine, where nothing can be checked",
    ),
}
"""fio's engines that no sweep may use, and why."""

_MAX_LINE = 4000
"""fio reads lines of 4096 bytes and takes the rest for another line."""


def check(job: JobFile, engine_options: frozenset[str] | None) -> None:
    """SluiceError when a composed job has an option that isn't taken, or one that fio would read
    otherwise than it stands there.

    `engine_options` are those of the engine; None: nobody knows them, so any name is taken."""
    for section in job.jobs:
        if "/" in section.name or section.name.startswith("global"):
            raise SluiceError(
                f"job '{section.name}': fio makes file names of it, or takes it for [global]: "
                "name it otherwise, with letters and digits"
            )
        for key, value in job.effective(section).items():
            for fault in _faults(key, value, engine_options):
                raise SluiceError(f"job '{section.name}': {key}={value}: {fault}")


def _faults(key: str, value: str, engine_options: frozenset[str] | None) -> Iterator[str]:
    if key in REFUSED:
        yield f"{REFUSED[key]}: a sweep's job can't have '{key}': delete it"
    if any(char in ";#$" or not char.isprintable() for char in key + value):
        yield "fio reads ; # $ and line breaks otherwise than they stand there: do without them"
    if len(f"{key}={value}".encode()) > _MAX_LINE:
        yield f"is longer than {_MAX_LINE} bytes, which fio takes for two lines: shorten it"
    if key in ("mem", "iomem") and ":" in value:
        yield "fio would write and delete the file behind the ':': delete that part"
    if key in _LOGS and "/" in value:
        yield "its files must lie in the run's folder: give a name without a folder"
    known = {*_TAKEN, *_LOGS, *PLACED, *(engine_options or ())}
    if key not in known and engine_options is not None:
        yield (
            "an option that the harness doesn't know to be harmless: delete it"
            f"{near(key, sorted(known))}"
        )
