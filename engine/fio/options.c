/* options.c: the table of tunables as fio's option table. Plain C, since it needs fio's headers. */
#include "fio.h"
#include "optgroup.h"

#include "engine/fio/options.h"
#include "scheduler/config/tunables.h"

/* Names and initialisers can't stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define COMMON(name_, what_, help_)                                                   \
	.name = #name_, .lname = what_, .help = help_, .category = FIO_OPT_C_ENGINE,  \
	.group = FIO_OPT_G_INVALID
#define FIELD(name_) .off1 = offsetof(struct sluice_tunables, name_)
#define VALUE(tunable, value, help_) \
	{ .ival = #value, .oval = SLUICE_##tunable##_##value, .help = help_ },

#define ENUM(name_, VALUES, def_, scope, what_, help_)                     \
	{ COMMON(name_, what_, help_), FIELD(name_), .type = FIO_OPT_STR, \
	  .def = #def_, .posval = { VALUES(VALUE) } },
/* No minval and maxval: fio takes the 1 of an out-of-range -1 for the end of a range, finds it good,
 * and goes on with the default. The bridge checks all ranges; the help says them. */
#define RANGE(help_, min_, max_) help_ " (" #min_ " to " #max_ ")"
#define UINT(name_, def_, min_, max_, unit, scope, what_, help_)                           \
	{ COMMON(name_, what_, RANGE(help_, min_, max_)), FIELD(name_), .type = FIO_OPT_INT, \
	  .def = #def_ },
#define SIZE(name_, def_, min_, max_, scope, what_, help_)                 \
	{ COMMON(name_, what_, RANGE(help_, min_, max_)), FIELD(name_),      \
	  .type = FIO_OPT_STR_VAL, .def = #def_ },
#define TIME(name_, def_, min_, max_, scope, what_, help_)                      \
	{ COMMON(name_, what_, RANGE(help_, min_, max_ us)), FIELD(name_##_us), \
	  .type = FIO_OPT_STR_VAL_TIME, .def = #def_ },
#define BOOL(name_, def_, scope, what_, help_)                              \
	{ COMMON(name_, what_, help_), FIELD(name_), .type = FIO_OPT_BOOL, \
	  .def = #def_ },
#define TEXT(name_, scope, what_, help_) \
	{ COMMON(name_, what_, help_), FIELD(name_), .type = FIO_OPT_STR_STORE },

/* NOLINTEND(bugprone-macro-parentheses) */

struct fio_option sluice_fio_options[] = {
#include "scheduler/config/tunables.def"
	{ .name = NULL },
};
