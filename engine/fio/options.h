/* fio's option table, generated from scheduler/config/tunables.def. */
#ifndef SLUICE_ENGINE_FIO_OPTIONS_H
#define SLUICE_ENGINE_FIO_OPTIONS_H

struct fio_option;

extern struct fio_option sluice_fio_options[];

#endif
