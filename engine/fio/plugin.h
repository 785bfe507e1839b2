/* plugin.h: what setup.c and plugin.c share. Needs fio's headers before it. */
#ifndef SLUICE_ENGINE_FIO_PLUGIN_H
#define SLUICE_ENGINE_FIO_PLUGIN_H

#include "engine/fio/bridge.h"
#include "fio.h"

#define ERR(...) log_err("sluice: " __VA_ARGS__)

/* What a job carries from setup to cleanup, in td->io_ops_data. Slots are io_u->index: on
 * releases up to 3.35 that field shares its storage with engine_data, which we therefore leave
 * alone. */
struct plugin_job {
  struct sluice_job* job;
  struct sluice_session* session; /* from post_init on */
  struct io_u** io_us;            /* by slot */
  struct io_u** staged;           /* since the last commit */
  unsigned int nr_staged;
  unsigned int slots; /* of io_us: more than depth once I/O was given up */
  unsigned int depth;
  bool may_defer;
  bool memory_kept; /* fio frees something else than its I/O memory */
  bool busy;        /* terminate or cleanup is at it */
};

extern struct ioengine_ops sluice_ops;

/* No file behind the names: null, model. */
static inline bool is_diskless(const struct thread_data* td) {
  const struct sluice_tunables* o = td->eo;

  return o->device != SLUICE_device_auto;
}

/* Says why and marks the job as failed; returns 1. */
int sluice_refuse(struct thread_data* td, int code, const char* why);

/* A line for the user while jobs run. Threads: any. */
void sluice_say(const char* line);

/* A remark that is no error. */
void sluice_note(const char* line);

/* fio's setup hook. */
int sluice_setup(struct thread_data* td);

/* What setup does for one job, once. */
int sluice_prepare_job(struct thread_data* td);

#endif
