// SPDX-License-Identifier: GPL-2.0-only
/* The queue of a device: who goes first, and many at once. */
#define _GNU_SOURCE
#include "ai_test.h"

#define COOKIE 99

static struct fixture fix;
static struct waiter blocker[SIM_DEPTH];

/* The slow device takes as many jobs as it can and ends none of them. */
static void block(void)
{
	int i;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	sim_set("hang", "%d", SIM_DEPTH);
	for (i = 0; i < SIM_DEPTH; i++) {
		waiter_init(&blocker[i], &fix);
		blocker[i].fix.call.cookie = COOKIE;
		waiter_start(&blocker[i]);
	}
	device_wait_queued(fix.fd, fix.device, SIM_DEPTH);
}

static void unblock(void)
{
	AI_ARG(ai_cancel, cancel, .cookie = COOKIE);
	int i;

	WORKS(fix.fd, AI_CANCEL, &cancel);
	EXPECT(cancel.cancelled == SIM_DEPTH, "%u cancelled", cancel.cancelled);
	for (i = 0; i < SIM_DEPTH; i++)
		waiter_join(&blocker[i]);
}

struct place {
	uint32_t priority;
	long long deadline_s; /* from now, 0 for none */
	int place; /* that it must take */
};

#define TRACING "/sys/kernel/tracing/"

/* The numbers of the jobs in the order in which the device was given them. */
static int started(uint64_t *jobs, int room)
{
	FILE *file = fopen(TRACING "trace", "re");
	char line[1000], *at;
	int count = 0;

	ASSERT(file, "trace: %s", strerror(errno));
	while (count < room && fgets(line, sizeof(line), file)) {
		at = strstr(line, "ai_start:") ? strstr(line, "job=") : NULL;
		if (at)
			jobs[count++] = strtoull(at + 4, NULL, 10);
	}
	fclose(file);
	return count;
}

/* They arrive in the order of the array, while the device is full. */
static void run_order(const struct place *places, int count)
{
	uint64_t order[64];
	struct waiter w[16];
	int i, k, found;

	if (access(TRACING "events/ai/ai_start/enable", W_OK))
		SKIP("this kernel has no tracefs");
	block();
	close(open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC)); /* empties it */
	file_write(TRACING "events/ai/ai_start/enable", "1");
	for (i = 0; i < count; i++) {
		waiter_init(&w[i], &fix);
		w[i].fix.call.priority = places[i].priority;
		if (places[i].deadline_s)
			w[i].fix.call.deadline_ns = now_ns() + places[i].deadline_s * SEC;
		waiter_start(&w[i]);
		device_wait_queued(fix.fd, fix.device, SIM_DEPTH + i + 1);
	}
	unblock();
	for (i = 0; i < count; i++) {
		waiter_join(&w[i]);
		EXPECT(!w[i].ret, "job %d: %s: %s", i, strerror(-w[i].ret), w[i].sentence);
	}
	file_write(TRACING "events/ai/ai_start/enable", "0");
	found = started(order, 64);
	EXPECT(found == count, "%d jobs in the trace, %d were run", found, count);
	for (i = 0; i < count; i++) {
		for (k = 0; k < found && order[k] != w[i].fix.call.record.job; k++)
			;
		EXPECT(k == places[i].place,
		       "job %d (priority %u, deadline %lld s) was number %d, want %d", i,
		       places[i].priority, places[i].deadline_s, k, places[i].place);
	}
}

static void test_arrival(void)
{
	static const struct place places[] = { { 0, 0, 0 }, { 0, 0, 1 }, { 0, 0, 2 }, { 0, 0, 3 } };

	run_order(places, 4);
}

static void test_priority(void)
{
	static const struct place places[] = {
		{ 0, 0, 6 }, { 3, 0, 3 }, { 7, 0, 0 }, { 3, 0, 4 }, { 1, 0, 5 }, { 7, 0, 1 },
		{ 6, 0, 2 },
	};

	run_order(places, 7);
}

static void test_deadline(void)
{
	static const struct place places[] = {
		{ 2, 0, 4 }, /* no deadline: after those with one */
		{ 2, 300, 3 },
		{ 2, 100, 1 },
		{ 0, 50, 5 }, /* priority counts first */
		{ 2, 200, 2 },
		{ 5, 900, 0 },
	};

	run_order(places, 6);
}

struct crowd {
	int fd;
	uint32_t model;
	int jobs;
	unsigned int seed;
};

static void *crowd_run(void *arg)
{
	struct crowd *c = arg;
	struct ai_alloc in = ai_get_mapped(c->fd, PAGE), out = ai_get_mapped(c->fd, PAGE);
	float *x = (float *)(uintptr_t)in.address, *y = (float *)(uintptr_t)out.address;
	uint64_t seed = c->seed * 2654435761ULL + 1;
	int i;

	for (i = 0; i < tap_less(c->jobs); i++) {
		struct ai_tensor tin = { .la = in.la, .bytes = 64, .dtype = AI_DTYPE_FLOAT,
					 .rank = 2, .dims = { 1, 16 } };
		struct ai_tensor tout = { .la = out.la, .bytes = 64 };
		AI_ARG(ai_infer, call, .inputs = (uintptr_t)&tin, .outputs = (uintptr_t)&tout,
		       .nr_inputs = 1, .nr_outputs = 1, .model = c->model);
		int ret;

		call.priority = random_next(&seed) % 8;
		if (random_next(&seed) % 2)
			call.deadline_ns = now_ns() + 1000 * SEC;
		x[9] = c->seed * 1000.0f + i;
		ret = ai_call(c->fd, AI_INFER, &call);
		EXPECT(!ret, "%s: %s", strerror(-ret), ai_sentence);
		EXPECT(y[9] == x[9], "output %f, want %f", y[9], x[9]);
		EXPECT(!(call.record.flags & AI_RECORD_LATE), "late");
	}
	munmap(x, PAGE);
	munmap(y, PAGE);
	return NULL;
}

static void run_crowd(uint32_t device, int threads, int jobs, bool one_file)
{
	pthread_t thread[64];
	struct crowd crowd[64];
	struct ai_device_info before, after;
	int fd = ai_open(), i;
	uint32_t model = ai_load(fd, device, MODEL_COPY);

	before = ai_device(fd, device);
	for (i = 0; i < threads; i++) {
		crowd[i] = (struct crowd){ .fd = fd, .model = model, .jobs = jobs,
					   .seed = i + 1 };
		if (!one_file) {
			crowd[i].fd = ai_open();
			crowd[i].model = ai_load(crowd[i].fd, device, MODEL_COPY);
		}
		ASSERT(!pthread_create(&thread[i], NULL, crowd_run, &crowd[i]), "no thread");
	}
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	after = ai_device(fd, device);
	EXPECT(after.jobs_done - before.jobs_done == (uint64_t)threads * tap_less(jobs),
	       "%llu jobs done", (unsigned long long)(after.jobs_done - before.jobs_done));
	EXPECT(after.jobs_failed == before.jobs_failed, "jobs failed");
	EXPECT(!after.queued, "%u jobs are left", after.queued);
}

static void test_crowd_one_file(void)
{
	run_crowd(SIM_FAST, 64, 200, true);
}

static void test_crowd_files(void)
{
	run_crowd(SIM_OTHER, 64, 200, false);
}

static void test_crowd_medium(void)
{
	run_crowd(SIM_MEDIUM, 16, 50, true);
}

static const struct tap_test tests[] = {
	{ "equal jobs go in order of arrival", test_arrival, 0 },
	{ "higher priority goes first", test_priority, 0 },
	{ "among equals the earlier deadline goes first", test_deadline, 0 },
	{ "64 threads of one file, 200 jobs each", test_crowd_one_file, 240 },
	{ "64 files, 200 jobs each", test_crowd_files, 240 },
	{ "16 threads on a device that takes its time", test_crowd_medium, 120 },
};

TAP_MAIN(tests)
