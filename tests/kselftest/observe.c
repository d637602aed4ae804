// SPDX-License-Identifier: GPL-2.0-only
/* What can be seen from outside: trace events, the page table, heat. */
#define _GNU_SOURCE
#include "ai_test.h"

#include <sys/mount.h>

#define RW (AI_PERM_READ | AI_PERM_WRITE)
#define TRACING "/sys/kernel/tracing/"

/* Whether the file has a line that holds all of the words. */
static bool has_line(const char *path, const char *first, const char *second, const char *third)
{
	FILE *file = fopen(path, "re");
	char line[1000];
	bool found = false;

	ASSERT(file, "%s: %s", path, strerror(errno));
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, first) && strstr(line, second) && strstr(line, third);
	fclose(file);
	return found;
}

static void test_trace(void)
{
	static const char *const events[] = { "ai_alloc", "ai_free", "ai_map", "ai_submit",
					      "ai_start", "ai_done", "ai_fault" };
	char la[40], job[40], path[100];
	struct fixture fix;
	struct ai_alloc a;
	unsigned int i;

	if (access(TRACING "events", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (access(TRACING "events", F_OK))
		SKIP("this kernel has no tracefs");
	for (i = 0; i < 7; i++) {
		snprintf(path, sizeof(path), TRACING "events/ai/%s/format", events[i]);
		EXPECT(!access(path, R_OK), "no event %s", events[i]);
	}
	close(open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC)); /* empties it */
	EXPECT(file_write(TRACING "events/ai/enable", "1"), "%s", strerror(errno));

	fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
	fix.call.cookie = 0xabcdef;
	WORKS(fix.fd, AI_INFER, &fix.call);
	a = ai_get_mapped(fix.fd, 3 * PAGE);
	munmap((void *)(uintptr_t)a.address, 3 * PAGE);
	ai_free_la(fix.fd, a.la);
	EXPECT(file_write(TRACING "events/ai/enable", "0"), "%s", strerror(errno));

	snprintf(la, sizeof(la), "la=0x%llx ", (unsigned long long)a.la);
	snprintf(job, sizeof(job), "job=%llu ", (unsigned long long)fix.call.record.job);
	EXPECT(has_line(TRACING "trace", "ai_alloc:", la, "12288"), "no ai_alloc of %s", la);
	EXPECT(has_line(TRACING "trace", "ai_map:", la, "12288"), "no ai_map of %s", la);
	EXPECT(has_line(TRACING "trace", "ai_free:", la, ""), "no ai_free of %s", la);
	EXPECT(has_line(TRACING "trace", "ai_submit:", job, "0xabcdef"), "no ai_submit of %s", job);
	EXPECT(has_line(TRACING "trace", "ai_start:", job, "gpu0"), "no ai_start of %s", job);
	EXPECT(has_line(TRACING "trace", "ai_done:", job, "error=0"), "no ai_done of %s", job);
}

static void test_page_table(void)
{
	const char *const gpt = "/sys/kernel/debug/ai/gpt";
	struct ai_alloc a, d;
	char la[40];
	int fd;

	if (access(gpt, R_OK))
		SKIP("this kernel has no debugfs");
	fd = ai_open();
	a = ai_get(fd, 7 * PAGE, AI_DEVICE_SYSTEM, AI_PERM_READ);
	snprintf(la, sizeof(la), "%llx ", (unsigned long long)a.la);
	EXPECT(has_line(gpt, la, " 7 ", "system"), "no line of la %s", la);
	d = ai_get(fd, 3 * PAGE, SIM_MEDIUM, RW);
	snprintf(la, sizeof(la), "%llx ", (unsigned long long)d.la);
	EXPECT(has_line(gpt, la, " 3 ", "gpu0"), "no line of la %s", la);
	ai_free_la(fd, d.la);
	EXPECT(!has_line(gpt, la, " 3 ", "gpu0"), "still a line of la %s", la);
}

/* The listing is longer than one read, and changes while it is read. */
static void test_long_page_table(void)
{
	static uint64_t la[3000];
	const int many = tap_less(3000) / 100 * 100;
	struct ai_held held;
	int fd = ai_open(), i;

	for (i = 0; i < many; i++)
		la[i] = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW).la;
	if (!ai_held(&held))
		SKIP("this kernel has no debugfs");
	EXPECT(held.regions >= many, "%ld regions", held.regions);
	for (i = 0; i < many; i += 100) {
		int k;

		for (k = i; k < i + 100; k++)
			ai_free_la(fd, la[k]);
		ai_held(&held);
		EXPECT(held.regions >= many - 100 - i, "%ld regions", held.regions);
	}
}

static void *thread_read_page_table(void *arg)
{
	int fd = open("/sys/kernel/debug/ai/gpt", O_RDONLY | O_CLOEXEC);
	const int *over = arg;
	char text[400];

	while (!__atomic_load_n(over, __ATOMIC_RELAXED))
		EXPECT(pread(fd, text, sizeof(text), 0) > 0, "%s", strerror(errno));
	close(fd);
	return NULL;
}

/* A walk whose part of the table goes begins again, and may find that nothing is left. */
static void test_empty_page_table(void)
{
	long long end = now_ns() + 5 * SEC;
	pthread_t thread;
	int over = 0, fd = ai_open();

	if (access("/sys/kernel/debug/ai/gpt", R_OK))
		SKIP("this kernel has no debugfs");
	ASSERT(!pthread_create(&thread, NULL, thread_read_page_table, &over), "no thread");
	while (now_ns() < end)
		ai_free_la(fd, ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW).la);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static bool wait_health(int fd, uint32_t health)
{
	long long end = now_ns() + 5 * SEC * tap_slow();

	while (ai_device(fd, SIM_SLOW).health != health && now_ns() < end)
		sleep_ns(10 * MS);
	return ai_device(fd, SIM_SLOW).health == health;
}

static void test_heat(void)
{
	struct ai_device_info info;
	struct fixture fix;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	sim_set("time_constant_ms", "20");
	sim_set("ambient", "100");
	EXPECT(wait_health(fix.fd, AI_HEALTH_THROTTLED), "not throttled in a heat of 100 degrees");
	info = ai_device(fix.fd, SIM_SLOW);
	EXPECT(info.temp_mc >= info.temp_throttle_mc, "%d of %d", info.temp_mc,
	       info.temp_throttle_mc);
	EXPECT(info.clock_mhz < info.clock_max_mhz, "%u of %u MHz", info.clock_mhz,
	       info.clock_max_mhz);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.call.record.flags & AI_RECORD_THROTTLED, "flags 0x%x", fix.call.record.flags);
	EXPECT(fix.call.record.run_ns > (uint64_t)SIM_SLOW_NS * 3 / 2, "ran for %llu ns",
	       (unsigned long long)fix.call.record.run_ns);

	sim_set("ambient", "20");
	EXPECT(wait_health(fix.fd, AI_HEALTH_OK), "throttled at 20 degrees");
	WORKS(fix.fd, AI_INFER, &fix.call);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!(fix.call.record.flags & AI_RECORD_THROTTLED), "flags 0x%x",
	       fix.call.record.flags);
	sim_set("ambient", "25");
	sim_set("time_constant_ms", "20000");
}

static const struct tap_test tests[] = {
	{ "trace events", test_trace, 0 },
	{ "the page table lists every region", test_page_table, 0 },
	{ "the page table is read while it changes", test_long_page_table, 0 },
	{ "the page table is read while all of it goes", test_empty_page_table, 0 },
	{ "a hot device is throttled", test_heat, 0 },
};

TAP_MAIN(tests)
