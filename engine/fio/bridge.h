/* bridge.h: the C ABI between the plugin (C, sees fio's headers) and the stack (C++, sees none).
 *
 * Errors: functions that can fail return 0 or a positive errno, and put one line that names the
 * culprit and the way out into the caller's sluice_text. No C++ exception crosses this boundary.
 * Threads: setup calls come from fio's main thread, the rest from the job's own thread.
 */
#ifndef SLUICE_ENGINE_FIO_BRIDGE_H
#define SLUICE_ENGINE_FIO_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/config/tunables.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sluice_text {
  char line[512];
};

struct sluice_job;     /* one fio job: from setup to cleanup */
struct sluice_session; /* its way through the stack: from start to end */
struct sluice_file;    /* one file that the job has open */

enum sluice_op { SLUICE_READ, SLUICE_WRITE, SLUICE_FLUSH, SLUICE_DATA_SYNC, SLUICE_TRIM };

/* What fio offers the stack. Constant for the life of the process. */
struct sluice_host {
  uint64_t (*now_ns)(void); /* fio's own clock; used where the processor's counter can't be */
  void (*say)(const char*); /* a line for the user, from any thread */
};

void sluice_init(const struct sluice_host* host);

/* ---- setup ---- */

/* Facts of a job that decide whether it can run. */
struct sluice_job_facts {
  const char* name;                       /* copied */
  const struct sluice_tunables* tunables; /* copied; strings live until cleanup */
  bool direct;
  bool writes;
};

int sluice_job_create(const struct sluice_job_facts* facts, struct sluice_job** job,
                      struct sluice_text* error);
void sluice_job_destroy(struct sluice_job* job);

/* Checks a path that the job names: not a directory, may be written, block size against the
 * device's logical block (block_bytes: smallest transfer unit, 0 = don't check), device size
 * against need_bytes; and joins the queue of that file or device. */
int sluice_job_join(struct sluice_job* job, const char* path, uint64_t block_bytes,
                    uint64_t need_bytes, struct sluice_text* error);

/* ---- the job's thread ---- */

struct sluice_start {
  unsigned depth;
  unsigned files;
  void* buffers; /* fio's I/O memory */
  uint64_t buffer_bytes;
  uint64_t buffer_unit_bytes; /* each io_u's share */
};

/* `note` gets a line worth saying once, or stays empty. */
int sluice_job_start(struct sluice_job* job, const struct sluice_start* start,
                     struct sluice_session** session, struct sluice_text* note,
                     struct sluice_text* error);
/* Ends the session: waits for I/O in flight, writes stats_json. */
int sluice_job_end(struct sluice_job* job, struct sluice_text* error);

int sluice_file_open(struct sluice_job* job, const char* path, int fd, struct sluice_file** file,
                     struct sluice_text* error);
void sluice_file_close(struct sluice_job* job, struct sluice_file* file);

/* fio was interrupted: nothing of this job waits for a limit any more. Threads: any, also a signal
 * handler, but not during or after sluice_job_end(). */
void sluice_hurry(struct sluice_session* session);

/* Per I/O. */
void sluice_queue(struct sluice_session* session, unsigned slot, enum sluice_op op,
                  struct sluice_file* file, void* buffer, uint32_t length, uint64_t offset);
/* 0 or -errno. deferrable: sluice_reap() with min > 0 follows at once. */
int sluice_commit(struct sluice_session* session, bool deferrable);
/* Ended requests, or -errno. */
int sluice_reap(struct sluice_session* session, unsigned min, unsigned max);
/* The i-th of them: its slot; *result is bytes or -errno. */
unsigned sluice_ended(struct sluice_session* session, unsigned i, int32_t* result);

/* What an io_u goes on with whose I/O was given up: the device may still use its slot and buffer.
 */
struct sluice_replacement {
  unsigned slot; /* below slots */
  unsigned slots;
  void* buffer; /* page-aligned, as large as the largest I/O; lives as long as the process */
};
/* For a slot whose I/O was given up, and whose io_u has `buffer`. False: too many were lost, and
 * this one takes no I/O any more; the job has to end. */
bool sluice_replace(struct sluice_session* session, unsigned slot, void* buffer,
                    struct sluice_replacement* out);
/* Whether this slot's I/O was given up. */
bool sluice_abandoned(struct sluice_session* session, unsigned slot);

#ifdef __cplusplus
}
#endif

#endif
