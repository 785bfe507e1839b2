/* setup.c: fio's setup hook, which refuses what can't work before anything is written.
 *
 * Threads: fio's main thread, before fio forks or makes threads; with create_serialize=0 the job's
 * own thread or process.
 */
#include "engine/fio/plugin.h"

/* With --output=FILE fio's own log is that file, and a line of ours before its JSON would make the
 * file unreadable. A server has no stderr of its own. */
void sluice_say(const char *line)
{
	if (is_backend)
		ERR("%s\n", line);
	else
		fprintf(stderr, "sluice: %s\n", line);
}

void sluice_note(const char *line)
{
	char text[600];

	snprintf(text, sizeof(text), "note: %s", line);
	sluice_say(text);
}

int sluice_refuse(struct thread_data *td, int code, const char *why)
{
	ERR("%s\n", why);
	td_verror(td, code, "sluice setup");
	return 1;
}

static int check_job(struct thread_data *td)
{
	struct thread_options *o = &td->o;

	if (td->io_ops != &sluice_ops)
		return sluice_refuse(td, EINVAL, "this fio's structures differ from those the plugin was "
			      "built with; rebuild it with -DFIO_SOURCE_DIR= of this very fio");
	if (o->zone_mode == ZONE_MODE_ZBD)
		return sluice_refuse(td, ENOTSUP, "zonemode=zbd is not supported; use ioengine=io_uring for "
			      "zoned devices");
	if (o->oatomic)
		return sluice_refuse(td, ENOTSUP, "atomic writes are not supported; remove atomic=1");
#if FIO_IOOPS_VERSION >= 32
	if (o->fdp)
		return sluice_refuse(td, ENOTSUP, "data placement is not supported; remove fdp=1");
#endif
	if (td_max_bs(td) > INT32_MAX)
		return sluice_refuse(td, EINVAL, "a block size above 2 GiB is not possible; lower bs=");
	if (!is_diskless(td) && o->iodepth > 32767)
		return sluice_refuse(td, EINVAL, "io_uring takes at most 32767 requests at once; lower "
				     "iodepth=");
	if (o->sync_file_range)
		return sluice_refuse(td, EINVAL, "sync_file_range= is not supported: it promises no "
			      "durability; use fsync= or fdatasync=");
	if (!o->create_serialize && !o->use_thread && thread_number > 1)
		return sluice_refuse(td, EINVAL, "create_serialize=0 makes fio fork the jobs before they can "
			      "share a stack; remove it, or add thread=1");
	return 0;
}

/* Jobs share queues and devices, so they must share memory. fio forks or not after this. */
static void use_threads(struct thread_data *td)
{
	static bool said;

	/* With create_serialize=0 it already has. */
	if (td->o.use_thread || !td->o.create_serialize)
		return;
	td->o.use_thread = 1;
	if (!said)
		sluice_note("jobs run as threads (thread=1), since they share one stack");
	said = true;
}

/* null and model have no file behind their names: nothing to lay out, stat or look up. */
static void set_diskless(struct thread_data *td)
{
	const struct sluice_tunables *o = td->eo;
	unsigned long long flags = FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NODISKUTIL;
	struct fio_file *f;
	unsigned int i;

	if (o->device == SLUICE_device_null)
		flags |= FIO_FAKEIO;
	td->flags |= flags << TD_ENG_FLAG_SHIFT;
	for_each_file(td, f, i) {
		f->real_file_size = -1ULL;
		f->filetype = FIO_TYPE_FILE;
		fio_file_set_size_known(f);
	}
}

/* What fio itself does for engines without a setup hook. */
static int get_file_sizes(struct thread_data *td)
{
	struct fio_file *f;
	unsigned int i;

	for_each_file(td, f, i) {
		if (td_io_get_file_size(td, f)) {
			if (td->error != ENOENT) {
				log_err("%s\n", td->verror);
				return 1;
			}
			td->error = 0;
			td->verror[0] = '\0';
		}
		if (f->real_file_size == -1ULL && td->o.size)
			f->real_file_size = td->o.size / td->o.nr_files;
	}
	return 0;
}

static unsigned long long gcd(unsigned long long a, unsigned long long b)
{
	while (b) {
		const unsigned long long rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The unit of the job's offsets and lengths. */
static unsigned long long block_unit(const struct thread_data *td)
{
	unsigned long long unit = 0;

	if (td_read(td))
		unit = gcd(td->o.min_bs[DDIR_READ], unit);
	if (td_write(td))
		unit = gcd(td->o.min_bs[DDIR_WRITE], unit);
	return unit;
}

static int join_files(struct thread_data *td, struct sluice_job *job)
{
	const struct thread_options *o = &td->o;
	struct sluice_text error;
	struct fio_file *f;
	unsigned int i;

	for_each_file(td, f, i) {
		unsigned long long need = 0;

		if (o->size && o->size != -1ULL && o->nr_files)
			need = o->start_offset + o->offset_increment * td->subjob_number +
			       o->size / o->nr_files;
		/* pipes and character devices carry I/O without a place */
		if (f->filetype == FIO_TYPE_PIPE || f->filetype == FIO_TYPE_CHAR)
			need = 0;
		const int code = sluice_job_join(job, f->file_name, block_unit(td), need, &error);

		if (code)
			return sluice_refuse(td, code, error.line);
	}
	return 0;
}

/* All that can be refused is refused here. */
int sluice_prepare_job(struct thread_data *td)
{
	struct sluice_text error;
	struct plugin_job *pj;
	char name[128];
	int code;

	if (td->io_ops == &sluice_ops && td->io_ops_data)
		return 0;
	if (check_job(td))
		return 1;
	use_threads(td);

	snprintf(name, sizeof(name), "%s.%u", td->o.name ? td->o.name : "job", td->thread_number);
	pj = calloc(1, sizeof(*pj));
	if (!pj)
		return sluice_refuse(td, ENOMEM, "out of memory");
	td->io_ops_data = pj;

	const struct sluice_job_facts facts = {
		.name = name,
		.tunables = td->eo,
		.direct = td->o.odirect,
		.writes = td_write(td) || td_trim(td),
	};
	code = sluice_job_create(&facts, &pj->job, &error);
	if (code)
		return sluice_refuse(td, code, error.line);
	return join_files(td, pj->job);
}

/* fio sets up one job after the other, which may write a file's layout, and then runs those whose
 * setup succeeded. So that nothing is written when any job is refused, the first setup looks at
 * them all. */
static int prepare_all_jobs(void)
{
	static bool done, refused;
	unsigned int i;

	for (i = 0; !done && !refused && i < thread_number; i++) {
		struct thread_data *td = tnumber_to_td(i);

		refused = td->io_ops == &sluice_ops && sluice_prepare_job(td);
	}
	done = true;
	return refused;
}

int sluice_setup(struct thread_data *td)
{
	int failed;

	/* With create_serialize=0 this is the job's own thread or process, and the others are
	 * running: it is for itself, as is one whose fields may lie elsewhere than we think. */
	if (td->io_ops == &sluice_ops && td->o.create_serialize)
		failed = prepare_all_jobs();
	else
		failed = sluice_prepare_job(td);
	if (failed)
		return 1;
	if (is_diskless(td)) {
		set_diskless(td);
		return 0;
	}
	return get_file_sizes(td);
}
