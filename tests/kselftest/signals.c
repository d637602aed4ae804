// SPDX-License-Identifier: GPL-2.0-only
/* Signals: one that is not fatal changes nothing, a fatal one ends everything. */
#define _GNU_SOURCE
#include "ai_test.h"

#include <sys/time.h>

#define RW (AI_PERM_READ | AI_PERM_WRITE)

static volatile unsigned int alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/* A signal every millisecond that restarts nothing. */
static void storm(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };

	sigaction(SIGALRM, &action, NULL);
	ASSERT(!setitimer(ITIMER_REAL, &timer, NULL), "%s", strerror(errno));
}

static void test_storm(void)
{
	struct fixture fix;
	int i;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	storm();
	for (i = 0; i < 10; i++) {
		fix.x[4] = i;
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(fix.y[4] == i, "output %f", fix.y[4]);
	}
	for (i = 0; i < 20; i++) {
		struct ai_alloc a = ai_get(fix.fd, 8 << 20, AI_DEVICE_SYSTEM, RW);
		char *p = ai_map(fix.fd, &a);

		p[(8 << 20) - 1] = 1;
		EXPECT(!ai_free_la(fix.fd, a.la), "%s", ai_sentence);
		munmap(p, 8 << 20);
	}
	ai_load(fix.fd, SIM_FAST, "ai-sim-model 1\ncompile_ms 200\nin x 1 4\nout y 1 4\n");
	EXPECT(alarms > 10, "only %u signals", alarms);
}

/* A wait is not made longer by signals. */
static void test_storm_timeout(void)
{
	struct fixture fix;
	long long start, spent;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("hang", "1");
	storm();
	start = now_ns();
	fix.call.timeout_ns = start + 200 * MS;
	FAILS(fix.fd, AI_INFER, &fix.call, ETIME, NULL);
	spent = now_ns() - start;
	EXPECT(spent >= 200 * MS && spent < 1500 * MS * tap_slow(), "ended after %lld ms",
	       spent / MS);
	fixture_reset(&fix);
	WORKS(fix.fd, AI_INFER, &fix.call);
}

static void test_stop(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct fixture fix;
		int i;

		fixture_open(&fix, SIM_SLOW, MODEL_COPY);
		for (i = 0; i < 20; i++)
			WORKS(fix.fd, AI_INFER, &fix.call);
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		kill(pid, SIGSTOP);
		sleep_ns(30 * MS);
		kill(pid, SIGCONT);
		sleep_ns(40 * MS);
	}
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
}

/* The child must be gone within two seconds, and all that it had with it. */
static void kill_child(int line, pid_t pid, const struct ai_held *before)
{
	long long start = now_ns();
	int status = 0;

	kill(pid, SIGKILL);
	if (tap_wait(pid, 10000, &status))
		tap_expect(false, __FILE__, line, "survives SIGKILL");
	tap_expect(now_ns() - start < 2 * SEC, __FILE__, line, "dies after %lld ms",
		   (now_ns() - start) / MS);
	tap_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, __FILE__, line,
		   "ended by itself with 0x%x", status);
	tap_expect(ai_held_at_most(before, 2000), __FILE__, line, "regions are left");
}

static void test_kill_hung(void)
{
	struct ai_held before;
	struct fixture fix;
	int round;

	ai_held(&before);
	for (round = 0; round < 3; round++) {
		pid_t pid;

		sim_set("hang", "1");
		pid = fork();
		if (!pid) {
			fixture_open(&fix, SIM_FAST, MODEL_COPY);
			ai_call(fix.fd, AI_INFER, &fix.call);
			_exit(1);
		}
		device_wait_queued(ai_open(), SIM_FAST, 1);
		kill_child(__LINE__, pid, &before);
	}
	sim_reset();
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!ai_device(fix.fd, SIM_FAST).queued, "jobs are left");
}

static void test_kill_threads(void)
{
	struct ai_held before;
	struct fixture fix;
	pid_t pid;

	ai_held(&before);
	sim_set("hang", "%d", SIM_DEPTH);
	pid = fork();
	if (!pid) {
		static struct waiter w[20];
		int i;

		fixture_open(&fix, SIM_FAST, MODEL_COPY);
		for (i = 0; i < 20; i++) {
			waiter_init(&w[i], &fix);
			waiter_start(&w[i]);
		}
		for (i = 0; i < 20; i++)
			waiter_join(&w[i]);
		_exit(1);
	}
	device_wait_queued(ai_open(), SIM_FAST, 20);
	kill_child(__LINE__, pid, &before);
	sim_reset();
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!ai_device(fix.fd, SIM_FAST).queued, "jobs are left");
}

/* The innocent next to it notices nothing but the wait. */
static void test_kill_one_of_two(void)
{
	struct fixture fix;
	struct waiter w;
	struct ai_held before;
	pid_t pid;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	ai_held(&before);
	sim_set("hang", "%d", SIM_DEPTH);
	pid = fork();
	if (!pid) {
		static struct waiter hung[SIM_DEPTH];
		int i;

		for (i = 0; i < SIM_DEPTH; i++) {
			struct fixture *own = malloc(sizeof(*own));

			fixture_open(own, SIM_FAST, MODEL_COPY);
			waiter_init(&hung[i], own);
			waiter_start(&hung[i]);
		}
		pause();
		_exit(1);
	}
	device_wait_queued(fix.fd, SIM_FAST, SIM_DEPTH);
	waiter_init(&w, &fix);
	waiter_start(&w);
	device_wait_queued(fix.fd, SIM_FAST, SIM_DEPTH + 1);
	kill_child(__LINE__, pid, &before);
	waiter_join(&w);
	EXPECT(!w.ret, "%s: %s", strerror(-w.ret), w.sentence);
	EXPECT(fix.y[6] == 6.5f, "output %f", fix.y[6]);
}

static void busy_child(void)
{
	struct fixture fix;
	int i;

	for (i = 0;; i++) {
		struct ai_alloc a, d;

		fixture_open(&fix, i % 2 ? SIM_MEDIUM : SIM_FAST, MODEL_COPY);
		a = ai_get_mapped(fix.fd, 1 << (12 + i % 12));
		d = ai_get(fix.fd, PAGE << (i % 4), SIM_MEDIUM, RW);
		((char *)(uintptr_t)a.address)[0] = 1;
		ai_call(fix.fd, AI_INFER, &fix.call);
		if (i % 3)
			ai_free_la(fix.fd, d.la);
		munmap(fix.x, 4 * PAGE);
		munmap(fix.y, 4 * PAGE);
		munmap((void *)(uintptr_t)a.address, a.bytes);
		if (i % 5)
			close(fix.fd);
	}
}

static void test_kill_anywhere(void)
{
	struct ai_held before;
	uint64_t seed = 7;
	int round, fd = ai_open();

	ai_held(&before);
	for (round = 0; round < tap_less(60); round++) {
		pid_t pid = fork();

		if (!pid)
			busy_child();
		sleep_ns(random_next(&seed) % (30 * MS));
		kill_child(__LINE__, pid, &before);
	}
	EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == SIM_MEMORY_BYTES, "device memory is lost");
}

/* Most of memory is being zeroed when the signal comes. */
static void test_kill_allocating(void)
{
	long long bytes = meminfo_kib("MemAvailable") * 1024LL / 4;
	struct ai_held before;
	int round;

	ai_held(&before);
	for (round = 0; round < 5; round++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = ai_open();

			for (;;)
				ai_free_la(fd, ai_get(fd, bytes, AI_DEVICE_SYSTEM, RW).la);
		}
		sleep_ns((20 + 17 * round) * MS);
		kill_child(__LINE__, pid, &before);
	}
}

static const struct tap_test tests[] = {
	{ "a storm of signals changes nothing", test_storm, 0 },
	{ "a storm of signals makes no wait longer", test_storm_timeout, 0 },
	{ "a waiting process can be stopped", test_stop, 0 },
	{ "a process with a hung job dies at once", test_kill_hung, 0 },
	{ "a process with 20 waiting threads dies at once", test_kill_threads, 0 },
	{ "other processes get their results", test_kill_one_of_two, 0 },
	{ "a process can be killed anywhere", test_kill_anywhere, 120 },
	{ "a process can be killed while it allocates", test_kill_allocating, 0 },
};

TAP_MAIN(tests)
