/* plugin.c: the ioengine that fio sees, from the job's first I/O to its last. setup.c is what comes
 * before; what it all means is behind bridge.h.
 *
 * fio installs no headers and moves its structures between releases under one IOOPS number, so
 * these files are built from the source of one release and refuse every other before a field is touched
 * (get_ioengine). See engine/README.md for the order in which fio calls the hooks.
 */
#include "engine/fio/plugin.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "engine/fio/options.h"

/* fio's clock, where the processor's counter can't be used. */
static uint64_t fio_now_ns(void)
{
	struct timespec now;

	fio_gettime(&now, NULL);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static const struct sluice_host host = { .now_ns = fio_now_ns, .say = sluice_say };

static int plugin_init(struct thread_data *td)
{
	struct plugin_job *pj;

	if (sluice_prepare_job(td)) /* with create_serialize=0 setup comes later */
		return 1;
	pj = td->io_ops_data;
	pj->depth = td->o.iodepth;
	pj->io_us = calloc(pj->depth, sizeof(struct io_u *));
	pj->slots = pj->depth;
	pj->staged = calloc(pj->depth, sizeof(struct io_u *));
	/* A push may be left to getevents() only where fio is sure to call it next: not if it may
	 * pause first, and not if another thread returns io_u's to the free list. */
	pj->may_defer = !td->o.thinktime && !td->o.verify_async;
	return pj->io_us && pj->staged ? 0 : ENOMEM;
}

static int plugin_io_u_init(struct thread_data *td, struct io_u *io_u)
{
	struct plugin_job *pj = td->io_ops_data;

	pj->io_us[io_u->index] = io_u;
	return 0;
}

/* Buffers exist now: the memory that fio gave the io_u's, for registration. */
static int plugin_post_init(struct thread_data *td)
{
	struct plugin_job *pj = td->io_ops_data;
	const unsigned long long unit = td_max_bs(td);
	struct sluice_text remark = { "" }, error;
	char *first = NULL, *last = NULL;
	unsigned int i;
	int code;

	for (i = 0; i < pj->depth; i++) {
		char *buf = pj->io_us[i]->buf;

		if (!buf)
			continue;
		if (!first || buf < first)
			first = buf;
		if (!last || buf > last)
			last = buf;
	}
	const struct sluice_start start = {
		.depth = pj->depth,
		.files = td->o.nr_files > 64 ? td->o.nr_files : 64,
		.buffers = first,
		.buffer_bytes = first ? (uint64_t)(last - first) + unit : 0,
		.buffer_unit_bytes = unit,
	};
	code = sluice_job_start(pj->job, &start, &pj->session, &remark, &error);
	if (code)
		return sluice_refuse(td, code, error.line);
	if (remark.line[0]) {
		static bool said;

		if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
			sluice_note(remark.line);
	}
	return 0;
}

static int attach(struct thread_data *td, struct fio_file *f)
{
	struct plugin_job *pj = td->io_ops_data;
	struct sluice_file *file;
	struct sluice_text error;
	const int code = sluice_file_open(pj->job, f->file_name, f->fd, &file, &error);

	if (code)
		return sluice_refuse(td, code, error.line);
	FILE_SET_ENG_DATA(f, file);
	return 0;
}

static int plugin_open_file(struct thread_data *td, struct fio_file *f)
{
	struct plugin_job *pj = td->io_ops_data;

	if (!is_diskless(td)) {
		const int code = generic_open_file(td, f);

		if (code)
			return code;
	}
	FILE_SET_ENG_DATA(f, NULL);
	if (!pj->session) /* attached at its first I/O */
		return 0;
	if (!attach(td, f))
		return 0;
	if (!is_diskless(td) && generic_close_file(td, f))
		ERR("%s: can't close\n", f->file_name);
	return 1;
}

static int plugin_close_file(struct thread_data *td, struct fio_file *f)
{
	struct plugin_job *pj = td->io_ops_data;

	if (FILE_ENG_DATA(f) && pj)
		sluice_file_close(pj->job, FILE_ENG_DATA(f));
	FILE_SET_ENG_DATA(f, NULL);
	return is_diskless(td) ? 0 : generic_close_file(td, f);
}

static int plugin_get_file_size(struct thread_data *td, struct fio_file *f)
{
	return generic_get_file_size(td, f);
}

static enum fio_q_status plugin_queue(struct thread_data *td, struct io_u *io_u);

/* A file that was open before the job's session existed. */
static __attribute__((noinline, cold)) enum fio_q_status
attach_and_queue(struct thread_data *td, struct io_u *io_u)
{
	if (!attach(td, io_u->file))
		return plugin_queue(td, io_u);
	io_u->error = td->error;
	return FIO_Q_COMPLETED;
}

static enum fio_q_status plugin_queue(struct thread_data *td, struct io_u *io_u)
{
	struct plugin_job *pj = td->io_ops_data;
	struct sluice_file *file = FILE_ENG_DATA(io_u->file);
	enum sluice_op op;

	/* fio_ro_check() has been called by the core. */
	switch (io_u->ddir) {
	case DDIR_READ:
		op = SLUICE_READ;
		break;
	case DDIR_WRITE:
		op = SLUICE_WRITE;
		break;
	case DDIR_TRIM:
		op = SLUICE_TRIM;
		break;
	case DDIR_SYNC:
		op = SLUICE_FLUSH;
		break;
	case DDIR_DATASYNC:
		op = SLUICE_DATA_SYNC;
		break;
	default:
		io_u->error = EINVAL;
		return FIO_Q_COMPLETED;
	}
	if (!file)
		return attach_and_queue(td, io_u);
	pj->staged[pj->nr_staged++] = io_u;
	sluice_queue(pj->session, io_u->index, op, file, io_u->xfer_buf,
		     (uint32_t)io_u->xfer_buflen, io_u->offset);
	return FIO_Q_QUEUED;
}

/* issue_time is the hand-over to the stack, so that clat = queue + device in every mode. */
static void stamp(struct thread_data *td, struct plugin_job *pj)
{
	struct timespec now;
	unsigned int i;

	if (!fio_fill_issue_time(td))
		return;
	fio_gettime(&now, NULL);
	for (i = 0; i < pj->nr_staged; i++) {
		pj->staged[i]->issue_time = now;
		io_u_queued(td, pj->staged[i]);
	}
	if (td->o.read_iolog_file) /* replay paces itself by it */
		td->last_issue = now;
}

static __attribute__((noinline)) int commit_staged(struct thread_data *td, struct plugin_job *pj)
{
	stamp(td, pj);
	io_u_mark_submit(td, pj->nr_staged);
	pj->nr_staged = 0;
	/* With no io_u left, fio's next call is getevents(): one system call serves both. */
	return sluice_commit(pj->session, pj->may_defer && io_u_qempty(&td->io_u_freelist));
}

/* Called without anything staged right before a getevents() that blocks, which pushes by itself. */
static int plugin_commit(struct thread_data *td)
{
	struct plugin_job *pj = td->io_ops_data;

	return pj->nr_staged ? commit_staged(td, pj) : 0;
}

static int plugin_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			    const struct timespec fio_unused *t)
{
	struct plugin_job *pj = td->io_ops_data;

	/* The core passes a time only with min == 0, and then zero: don't block. */
	return sluice_reap(pj->session, min, max);
}

/* The I/O memory that fio will free at the job's end, when the device may still write there: fio
 * gets something else to free in its stead. */
static void keep_memory(struct thread_data *td)
{
	struct plugin_job *pj = td->io_ops_data;
	void *other = NULL;

	if (pj->memory_kept)
		return;
	switch (td->o.mem_type) {
	case MEM_MALLOC:
		other = malloc(1);
		break;
	case MEM_SHM:
	case MEM_SHMHUGE:
		other = shmat(td->shm_id, NULL, 0); /* attached twice, detached once */
		break;
	case MEM_MMAP:
	case MEM_MMAPHUGE:
	case MEM_MMAPSHARED:
		other = mmap(NULL, td->orig_buffer_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	default:
		return; /* not the processor's memory */
	}
	if (!other || other == MAP_FAILED) {
		ERR("no memory to keep that of I/O that hangs\n");
		abort(); /* rather than let a device write where something else is by then */
	}
	td->orig_buffer = other;
	pj->memory_kept = true;
}

/* An I/O was given up while at the device: its slot and buffer stay there, and the io_u goes on with
 * others. fio uses neither io_u->index nor the place of io_u->buf for anything. */
static __attribute__((noinline, cold)) void replace(struct thread_data *td, struct io_u *io_u)
{
	struct plugin_job *pj = td->io_ops_data;
	struct sluice_replacement other;
	struct io_u **io_us;

	if (!sluice_abandoned(pj->session, io_u->index))
		return;
	keep_memory(td);
	if (!sluice_replace(pj->session, io_u->index, io_u->buf, &other)) {
		sluice_say("too much I/O hangs: the job ends");
		fio_mark_td_terminate(td);
		return;
	}
	if (other.slots > pj->slots) {
		io_us = realloc(pj->io_us, other.slots * sizeof(*io_us));
		if (!io_us)
			abort(); /* the slot's number is taken already */
		pj->io_us = io_us;
		pj->slots = other.slots;
	}
	/* What fio has written into it once may be all it ever writes. */
	if (td_write(td))
		memcpy(other.buffer, io_u->buf, td_max_bs(td));
	io_u->buf = other.buffer;
	io_u->xfer_buf = other.buffer;
	io_u->index = other.slot;
	pj->io_us[other.slot] = io_u;
}

static struct io_u *plugin_event(struct thread_data *td, int event)
{
	struct plugin_job *pj = td->io_ops_data;
	int32_t result;
	struct io_u *io_u = pj->io_us[sluice_ended(pj->session, (unsigned int)event, &result)];

	if (result == (int32_t)io_u->xfer_buflen) {
		io_u->error = 0;
	} else if (result < 0) {
		io_u->error = -result;
		if (result == -ETIMEDOUT)
			replace(td, io_u);
	} else {
		io_u->error = 0;
		/* trims and flushes end with 0 */
		if (ddir_rw(io_u->ddir) && io_u->ddir != DDIR_TRIM)
			io_u->resid = io_u->xfer_buflen - (unsigned long long)result;
	}
	return io_u;
}

/* Ctrl-C, or another job that ended them all: fio now waits for all I/O of the job, so none should
 * wait for a limit. Runs in a signal handler or another thread; the job may just be ending, and the
 * handler may have interrupted that very end. */
static void plugin_terminate(struct thread_data *td)
{
	struct plugin_job *pj = td->io_ops_data;

	if (!pj || __atomic_exchange_n(&pj->busy, true, __ATOMIC_ACQUIRE))
		return;
	if (pj->session)
		sluice_hurry(pj->session);
	__atomic_store_n(&pj->busy, false, __ATOMIC_RELEASE);
}

static void plugin_cleanup(struct thread_data *td)
{
	struct plugin_job *pj = td->io_ops_data;
	struct sluice_text error;

	if (!pj) /* setup failed before it got that far */
		return;
	while (__atomic_exchange_n(&pj->busy, true, __ATOMIC_ACQUIRE))
		sched_yield();
	if (pj->job) {
		if (sluice_job_end(pj->job, &error))
			sluice_refuse(td, EIO, error.line);
		sluice_job_destroy(pj->job);
	}
	free(pj->io_us);
	free(pj->staged);
	/* A terminate may hold pj still: it stays, busy for ever, a few bytes a job. */
	td->io_ops_data = NULL;
}

/* Static, since fio asks for it again at every parse and drops a job's options when it changes. */
struct ioengine_ops sluice_ops = {
	.name = "sluice",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_NO_OFFLOAD | FIO_ASYNCIO_SETS_ISSUE_TIME,
	.setup = sluice_setup,
	.init = plugin_init,
	.io_u_init = plugin_io_u_init,
	.post_init = plugin_post_init,
	.queue = plugin_queue,
	.commit = plugin_commit,
	.getevents = plugin_getevents,
	.event = plugin_event,
	.cleanup = plugin_cleanup,
	.terminate = plugin_terminate,
	.open_file = plugin_open_file,
	.close_file = plugin_close_file,
	.get_file_size = plugin_get_file_size,
	.option_struct_size = sizeof(struct sluice_tunables),
	.options = sluice_fio_options,
};

/* fio's entry. Only names are used until the release is known to be the one we were built for. */
__attribute__((visibility("default"))) void get_ioengine(struct ioengine_ops **ops);

void get_ioengine(struct ioengine_ops **ops)
{
	const char *running = dlsym(RTLD_DEFAULT, "fio_version_string");

	if (!running || strcmp(running, SLUICE_FIO_RELEASE) != 0) {
		static bool said;

		if (!said)
			ERR("built for %s, but this is %s; rebuild it with ci/setup, or with "
			    "-DFIO_SOURCE_DIR= of this fio\n",
			    SLUICE_FIO_RELEASE, running ? running : "a fio of unknown release");
		said = true;
		*ops = NULL;
		return;
	}
	sluice_init(&host);
	*ops = &sluice_ops;
}
