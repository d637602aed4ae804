// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open, allocate, load, infer, close, over and over: memory is where it was.
 * AI_LEAK_CYCLES says how often (10000).
 */
#define _GNU_SOURCE
#include "ai_test.h"

#include <limits.h>

#define RW (AI_PERM_READ | AI_PERM_WRITE)

static int cycles(void)
{
	const char *text = getenv("AI_LEAK_CYCLES");

	return text ? atoi(text) : 10000;
}

/* What is freed by RCU and by workers is freed. */
static void settle(void)
{
	file_write("/proc/sys/vm/drop_caches", "3");
	sleep_ns(500 * MS);
	file_write("/proc/sys/vm/drop_caches", "3");
	sleep_ns(500 * MS);
}

static void one_life(int i)
{
	struct fixture fix;
	struct ai_alloc a, d;

	fixture_open(&fix, i & 1 ? SIM_OTHER : SIM_FAST, MODEL_COPY);
	a = ai_get_mapped(fix.fd, PAGE << (i % 6));
	d = ai_get(fix.fd, PAGE, SIM_MEDIUM, RW);
	fix.in.la = a.la;
	EXPECT(!ai_call(fix.fd, AI_INFER, &fix.call), "%s", ai_sentence);
	fix.in.la = 1ULL << 50;
	EXPECT(ai_call(fix.fd, AI_INFER, &fix.call) == -ENOENT, "%s", ai_sentence);
	if (i % 3 == 0)
		EXPECT(!ai_free_la(fix.fd, d.la), "%s", ai_sentence);
	if (i % 3 == 1)
		EXPECT(!ai_unload(fix.fd, fix.model), "%s", ai_sentence);
	munmap((void *)(uintptr_t)a.address, a.bytes);
	munmap(fix.x, 4 * PAGE);
	munmap(fix.y, 4 * PAGE);
	close(fix.fd);
}

struct memory {
	long available, slab, vmalloc;
};

static struct memory memory_now(void)
{
	settle();
	return (struct memory){
		.available = meminfo_kib("MemAvailable"),
		.slab = meminfo_kib("Slab"),
		.vmalloc = meminfo_kib("VmallocUsed"),
	};
}

#define STAGES 3
#define MOST_PAGES_KIB 4096 /* processes come and go: MemAvailable is no exact figure */

/*
 * What leaks leaks in every stage; what the rest of the system does differs from
 * one to the next. So the least growth of the stages counts.
 */
struct growth {
	long available, slab, vmalloc;
};

static void take_least(long *value, long growth)
{
	if (growth < *value)
		*value = growth;
}

static void repeat(int line, void (*life)(int), int times)
{
	struct growth grown = { LONG_MAX, LONG_MAX, LONG_MAX };
	long most = times / STAGES / 64 + 64; /* less than one small object a cycle */
	struct memory was, is;
	struct ai_held before;
	int stage, i;

	ai_held(&before);
	for (i = 0; i < times / 10 + 10; i++)
		life(i);
	ASSERT(ai_held_at_most(&before, 20000), "regions are left after the warm-up");
	was = memory_now();
	for (stage = 0; stage < STAGES; stage++, was = is) {
		for (i = 0; i < times / STAGES; i++)
			life(i);
		tap_expect(ai_held_at_most(&before, 20000), __FILE__, line, "regions are left");
		is = memory_now();
		printf("# %d cycles: available %+ld KiB, slab %+ld KiB, vmalloc %+ld KiB\n",
		       times / STAGES, is.available - was.available, is.slab - was.slab,
		       is.vmalloc - was.vmalloc);
		take_least(&grown.available, was.available - is.available);
		take_least(&grown.slab, is.slab - was.slab);
		take_least(&grown.vmalloc, is.vmalloc - was.vmalloc);
	}
	/* KASAN keeps what was freed for a while; kmemleak looks closer than this. */
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		return;
	tap_expect(grown.slab < most, __FILE__, line, "slab grows by %ld KiB", grown.slab);
	tap_expect(grown.vmalloc < most, __FILE__, line, "vmalloc grows by %ld KiB",
		   grown.vmalloc);
	tap_expect(grown.available < MOST_PAGES_KIB, __FILE__, line, "%ld KiB less are available",
		   grown.available);
}

static void test_lives(void)
{
	repeat(__LINE__, one_life, cycles());
}

static void one_death(int i)
{
	pid_t pid = fork();

	if (!pid) {
		struct fixture fix;

		fixture_open(&fix, i & 1 ? SIM_MEDIUM : SIM_FAST, MODEL_COPY);
		ai_get_mapped(fix.fd, PAGE);
		ai_call(fix.fd, AI_INFER, &fix.call);
		_exit(0); /* everything is left to the kernel */
	}
	waitpid(pid, NULL, 0);
}

static void test_deaths(void)
{
	repeat(__LINE__, one_death, cycles() / 10);
}

static struct fixture fixed;

static void one_job(int i)
{
	fixed.call.cookie = i;
	EXPECT(!ai_call(fixed.fd, AI_INFER, &fixed.call), "%s", ai_sentence);
}

static void test_jobs(void)
{
	fixture_open(&fixed, SIM_FAST, MODEL_NULL);
	repeat(__LINE__, one_job, cycles() * 10);
}

static void one_failure(int i)
{
	AI_ARG(ai_alloc, a, .bytes = 0, .perm = RW);
	AI_ARG(ai_model_load, load, .data = (uintptr_t)"nonsense", .bytes = 8,
	       .device = SIM_FAST, .format = AI_FORMAT_ONNX, .name = "x");

	(void)i;
	ai_call(fixed.fd, AI_ALLOC, &a);
	ai_call(fixed.fd, AI_MODEL_LOAD, &load);
	fixed.call.model = 12345;
	ai_call(fixed.fd, AI_INFER, &fixed.call);
}

static void test_failures(void)
{
	fixture_open(&fixed, SIM_FAST, MODEL_NULL);
	repeat(__LINE__, one_failure, cycles());
}

static const struct tap_test tests[] = {
	{ "lives of files leave no memory behind", test_lives, 600 },
	{ "deaths of processes leave no memory behind", test_deaths, 300 },
	{ "jobs leave no memory behind", test_jobs, 300 },
	{ "failed calls leave no memory behind", test_failures, 300 },
};

TAP_MAIN(tests)
