/* The tunables of one job as a plain C struct, generated from tunables.def. fio writes it (it is
 * the engine's option struct), the stack reads it. Plain C: the plugin's option table needs it too.
 *
 * Ownership: strings belong to fio. Threads: written before the job starts, then constant.
 */
#ifndef SLUICE_SCHEDULER_CONFIG_TUNABLES_H
#define SLUICE_SCHEDULER_CONFIG_TUNABLES_H

#include "scheduler/config/enums.def"

/* enum sluice_bypass { SLUICE_bypass_off, SLUICE_bypass_all, … } */
#define SLUICE_VALUE(tunable, value, help) SLUICE_##tunable##_##value,
#define SLUICE_DECLARE(tunable, VALUES) enum sluice_##tunable{VALUES(SLUICE_VALUE)};
SLUICE_ENUMS(SLUICE_DECLARE)
#undef SLUICE_VALUE
#undef SLUICE_DECLARE

struct sluice_tunables {
  void* fio_pad; /* fio overwrites the first pointer of an option struct */
#define ENUM(name, values, def, scope, what, help) unsigned int name;
#define UINT(name, def, min, max, unit, scope, what, help) unsigned int name;
#define SIZE(name, def, min, max, scope, what, help) unsigned long long name;
#define TIME(name, def, min, max, scope, what, help) unsigned long long name##_us;
#define BOOL(name, def, scope, what, help) unsigned int name;
#define TEXT(name, scope, what, help) char* name;
#include "scheduler/config/tunables.def"
};

#endif
