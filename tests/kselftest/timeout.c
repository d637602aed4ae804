// SPDX-License-Identifier: GPL-2.0-only
/* Jobs that end early: deadlines, time-outs, cancellation, failures, hangs. */
#define _GNU_SOURCE
#include "ai_test.h"

/* How much later than asked a wait may end on a slow, shared machine. */
#define GRACE (1500 * MS * tap_slow())

static struct fixture fix;

static uint32_t queued(void)
{
	return ai_device(fix.fd, fix.device).queued;
}

static void wait_queued(uint32_t jobs)
{
	device_wait_queued(fix.fd, fix.device, jobs);
}

static void ended_within(int line, long long since, long long least, long long most)
{
	long long spent = now_ns() - since;

	tap_expect(spent >= least && spent <= most + GRACE, __FILE__, line,
		   "ended after %lld ms, want %lld to %lld", spent / MS, least / MS, most / MS);
}

static void next_works(int line)
{
	fixture_reset(&fix);
	ai_works(__FILE__, line, fix.fd, "AI_INFER afterwards", AI_INFER, &fix.call);
}

static void test_hang_timeout(void)
{
	long long start;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "1");
	start = now_ns();
	fix.call.timeout_ns = start + 100 * MS;
	FAILS(fix.fd, AI_INFER, &fix.call, ETIME, NULL);
	ended_within(__LINE__, start, 100 * MS, 100 * MS);
	EXPECT(fix.call.record.job, "no job in the record");
	EXPECT(fix.call.record.device == SIM_FAST, "device %u", fix.call.record.device);
	next_works(__LINE__);
	EXPECT(fix.y[2] == 2.5f, "output %f", fix.y[2]);
}

/* Without a time-out of the caller that of the device holds (10 s for ai_sim). */
static void test_hang_default(void)
{
	long long start = now_ns();

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "1");
	FAILS(fix.fd, AI_INFER, &fix.call, ETIME, NULL);
	ended_within(__LINE__, start, 5 * SEC, 12 * SEC);
	next_works(__LINE__);
}

/* All that the device takes hang; those behind them run when they are gone. */
static void test_hang_queue(void)
{
	struct waiter hung[SIM_DEPTH], behind[3];
	const long long patience = 300 * MS * tap_slow();
	long long start;
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "%d", SIM_DEPTH);
	start = now_ns();
	for (i = 0; i < SIM_DEPTH; i++) {
		waiter_init(&hung[i], &fix);
		hung[i].fix.call.timeout_ns = start + patience;
		waiter_start(&hung[i]);
	}
	wait_queued(SIM_DEPTH);
	for (i = 0; i < 3; i++) {
		waiter_init(&behind[i], &fix);
		waiter_start(&behind[i]);
	}
	for (i = 0; i < SIM_DEPTH; i++) {
		waiter_join(&hung[i]);
		EXPECT(hung[i].ret == -ETIME, "%s", strerror(-hung[i].ret));
	}
	for (i = 0; i < 3; i++) {
		waiter_join(&behind[i]);
		EXPECT(!behind[i].ret, "%s: %s", strerror(-behind[i].ret), behind[i].sentence);
	}
	ended_within(__LINE__, start, patience, patience);
	EXPECT(!queued(), "%u jobs are left", queued());
}

static void test_timeout_in_queue(void)
{
	struct waiter first[SIM_DEPTH];
	long long start;
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "%d", SIM_DEPTH);
	for (i = 0; i < SIM_DEPTH; i++) {
		waiter_init(&first[i], &fix);
		first[i].fix.call.timeout_ns = now_ns() + 2 * SEC * tap_slow();
		waiter_start(&first[i]);
	}
	wait_queued(SIM_DEPTH);
	start = now_ns();
	fix.call.timeout_ns = start + 50 * MS;
	memset(&fix.call.record, 0, sizeof(fix.call.record));
	FAILS(fix.fd, AI_INFER, &fix.call, ETIME, NULL);
	EXPECT(now_ns() - start < 1500 * MS, "waited for the jobs before it");
	EXPECT(fix.call.record.job && !fix.call.record.run_ns, "ran for %llu ns",
	       (unsigned long long)fix.call.record.run_ns);
	for (i = 0; i < SIM_DEPTH; i++)
		waiter_join(&first[i]);
	next_works(__LINE__);
}

/* A job that has not started by its deadline is not run. */
static void test_deadline(void)
{
	struct waiter first[SIM_DEPTH];
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "%d", SIM_DEPTH);
	for (i = 0; i < SIM_DEPTH; i++) {
		waiter_init(&first[i], &fix);
		first[i].fix.call.timeout_ns = now_ns() + 500 * MS * tap_slow();
		waiter_start(&first[i]);
	}
	wait_queued(SIM_DEPTH);
	fix.out.offset = 256;
	fix.call.deadline_ns = now_ns() + 5 * MS;
	FAILS(fix.fd, AI_INFER, &fix.call, ETIME, NULL);
	EXPECT(fix.call.record.job && !fix.call.record.run_ns, "ran for %llu ns",
	       (unsigned long long)fix.call.record.run_ns);
	EXPECT(!fix.y[64 + 3], "ran");
	for (i = 0; i < SIM_DEPTH; i++)
		waiter_join(&first[i]);
	next_works(__LINE__);
}

/* One that started in time ends well, and late. */
static void test_late(void)
{
	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	fix.call.deadline_ns = now_ns() + 30 * MS;
	if (!WORKS(fix.fd, AI_INFER, &fix.call))
		return;
	EXPECT(fix.call.record.flags & AI_RECORD_LATE, "flags 0x%x", fix.call.record.flags);
	EXPECT(fix.y[1] == 1.5f, "output %f", fix.y[1]);
	fix.call.deadline_ns = now_ns() + 20 * SEC;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!(fix.call.record.flags & AI_RECORD_LATE), "flags 0x%x", fix.call.record.flags);
}

static void test_cancel_running(void)
{
	struct waiter w;
	AI_ARG(ai_cancel, cancel, .cookie = 4711);
	long long start;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "1");
	waiter_init(&w, &fix);
	w.fix.call.cookie = 4711;
	waiter_start(&w);
	wait_queued(1);
	start = now_ns();
	WORKS(fix.fd, AI_CANCEL, &cancel);
	EXPECT(cancel.cancelled == 1, "%u cancelled", cancel.cancelled);
	waiter_join(&w);
	EXPECT(w.ret == -ECANCELED, "%s", strerror(-w.ret));
	EXPECT(w.sentence[0], "no sentence");
	EXPECT(w.ended - start < GRACE, "ended after %lld ms", (w.ended - start) / MS);
	WORKS(fix.fd, AI_CANCEL, &cancel);
	EXPECT(!cancel.cancelled, "%u cancelled that had ended", cancel.cancelled);
	next_works(__LINE__);
}

/* Some of them run (and hang), some wait: only the cookie counts. */
static void test_cancel_some(void)
{
	const uint64_t cookie = 0xfeedfacecafebeefULL;
	struct waiter w[2 * SIM_DEPTH];
	AI_ARG(ai_cancel, cancel);
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "%d", 2 * SIM_DEPTH);
	for (i = 0; i < 2 * SIM_DEPTH; i++) {
		waiter_init(&w[i], &fix);
		w[i].fix.call.cookie = i % 2 ? cookie : (uint64_t)i;
		waiter_start(&w[i]);
	}
	wait_queued(2 * SIM_DEPTH);
	cancel.cookie = cookie & 0xffffffff;
	WORKS(fix.fd, AI_CANCEL, &cancel);
	EXPECT(!cancel.cancelled, "half a cookie cancels %u", cancel.cancelled);
	cancel.cookie = cookie;
	WORKS(fix.fd, AI_CANCEL, &cancel);
	EXPECT(cancel.cancelled == SIM_DEPTH, "%u cancelled", cancel.cancelled);
	for (i = 1; i < 2 * SIM_DEPTH; i += 2) {
		waiter_join(&w[i]);
		EXPECT(w[i].ret == -ECANCELED, "job %d: %s: %s", i, strerror(-w[i].ret),
		       w[i].sentence);
	}
	wait_queued(SIM_DEPTH);
	for (i = 0; i < 2 * SIM_DEPTH; i += 2) {
		cancel.cookie = i;
		WORKS(fix.fd, AI_CANCEL, &cancel);
		EXPECT(cancel.cancelled == 1, "job %d: %u cancelled", i, cancel.cancelled);
		waiter_join(&w[i]);
		EXPECT(w[i].ret == -ECANCELED, "job %d: %s", i, strerror(-w[i].ret));
	}
	sim_reset();
	next_works(__LINE__);
}

/* Jobs of another file do not hear it. */
static void test_cancel_other_file(void)
{
	AI_ARG(ai_cancel, cancel, .cookie = 5);
	struct waiter w;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "1");
	waiter_init(&w, &fix);
	w.fix.call.cookie = 5;
	waiter_start(&w);
	wait_queued(1);
	WORKS(ai_open(), AI_CANCEL, &cancel);
	EXPECT(!cancel.cancelled, "%u cancelled", cancel.cancelled);
	sleep_ns(20 * MS);
	EXPECT(queued() == 1, "it ended");
	WORKS(fix.fd, AI_CANCEL, &cancel);
	waiter_join(&w);
	EXPECT(w.ret == -ECANCELED, "%s", strerror(-w.ret));
}

static volatile int race_over;
static unsigned int race_cancelled;

static void *thread_cancel(void *arg)
{
	(void)arg;
	while (!race_over) {
		AI_ARG(ai_cancel, cancel, .cookie = 9);

		EXPECT(!ai_call(fix.fd, AI_CANCEL, &cancel), "%s", ai_sentence);
		race_cancelled += cancel.cancelled;
	}
	return NULL;
}

static void test_cancel_race(void)
{
	int done = 0, cancelled = 0, i;
	pthread_t thread;

	fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
	fix.call.cookie = 9;
	ASSERT(!pthread_create(&thread, NULL, thread_cancel, NULL), "no thread");
	for (i = 0; i < 1000; i++) {
		int ret = ai_call(fix.fd, AI_INFER, &fix.call);

		EXPECT(!ret || ret == -ECANCELED, "%s: %s", strerror(-ret), ai_sentence);
		done += !ret;
		cancelled += !!ret;
	}
	race_over = 1;
	pthread_join(thread, NULL);
	printf("# %d done, %d cancelled\n", done, cancelled);
	EXPECT(race_cancelled >= (unsigned int)cancelled && race_cancelled <= 1000,
	       "%u of 1000 jobs were said to be told to end, %d did", race_cancelled, cancelled);
	next_works(__LINE__);
	EXPECT(!queued(), "%u jobs are left", queued());
}

static void test_fail(void)
{
	struct ai_device_info before, after;
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_NULL);
	before = ai_device(fix.fd, SIM_FAST);
	sim_set("fail", "3");
	for (i = 0; i < 3; i++) {
		FAILS(fix.fd, AI_INFER, &fix.call, EIO, NULL);
		EXPECT(fix.call.record.job, "no job in the record");
	}
	next_works(__LINE__);
	after = ai_device(fix.fd, SIM_FAST);
	EXPECT(after.jobs_failed - before.jobs_failed == 3 &&
	       after.jobs_done - before.jobs_done == 1, "%llu failed, %llu done",
	       (unsigned long long)(after.jobs_failed - before.jobs_failed),
	       (unsigned long long)(after.jobs_done - before.jobs_done));
}

static void test_fail_copy(void)
{
	fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
	sim_set("fail", "1");
	FAILS(fix.fd, AI_INFER, &fix.call, EIO, NULL);
	next_works(__LINE__);
}

/* Time-outs at about the moment a job ends: one or the other, and no harm. */
static void test_timeout_race(void)
{
	int i, late = 0;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	for (i = 0; i < 60; i++) {
		int ret;

		fix.call.timeout_ns = now_ns() + (40 + i % 30) * MS;
		ret = ai_call(fix.fd, AI_INFER, &fix.call);
		EXPECT(!ret || ret == -ETIME, "%s: %s", strerror(-ret), ai_sentence);
		late += !!ret;
		if (!ret)
			EXPECT(fix.call.record.run_ns, "no run time");
	}
	printf("# %d of 60 timed out\n", late);
	EXPECT(late > 0, "no time-out passes in time");
	wait_queued(0);
	next_works(__LINE__);
}

/* Memory of a job that was left behind is kept until the device is done with it. */
static void test_free_after_timeout(void)
{
	struct ai_held before;
	int i;

	ai_held(&before);
	for (i = 0; i < 20; i++) {
		fixture_open(&fix, SIM_SLOW, MODEL_COPY);
		fix.call.timeout_ns = now_ns() + MS;
		ai_call(fix.fd, AI_INFER, &fix.call);
		ai_free_la(fix.fd, fix.in_alloc.la);
		ai_free_la(fix.fd, fix.out_alloc.la);
		munmap(fix.x, 4 * PAGE);
		munmap(fix.y, 4 * PAGE);
		close(fix.fd);
	}
	EXPECT(ai_held_at_most(&before, 5000), "regions are left");
}

static const struct tap_test tests[] = {
	{ "a hung job ends with the caller's time-out", test_hang_timeout, 0 },
	{ "a hung job ends with the device's time-out", test_hang_default, 0 },
	{ "jobs behind hung ones run", test_hang_queue, 0 },
	{ "a time-out ends a job that waits", test_timeout_in_queue, 0 },
	{ "a deadline that passes in the queue", test_deadline, 0 },
	{ "a job that ends after its deadline is late", test_late, 0 },
	{ "a running job is cancelled", test_cancel_running, 0 },
	{ "only jobs with the cookie are cancelled", test_cancel_some, 0 },
	{ "jobs of another file are not cancelled", test_cancel_other_file, 0 },
	{ "cancellation while jobs end", test_cancel_race, 120 },
	{ "a failed job is EIO", test_fail, 0 },
	{ "a failed job that copies is EIO", test_fail_copy, 0 },
	{ "time-outs while jobs end", test_timeout_race, 120 },
	{ "memory is freed after a time-out", test_free_after_timeout, 0 },
};

TAP_MAIN(tests)
