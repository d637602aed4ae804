// SPDX-License-Identifier: GPL-2.0-only
/*
 * growth_kib: how much more memory kernel and application hold after 10^6 null
 * jobs than after a warm-up.
 *
 * The kernel's share is what MemAvailable loses; both readings are the best of
 * several, taken when caches are dropped, so that what the rest of the system
 * happens to hold for a moment does not count.
 */
#define _GNU_SOURCE
#include "bench.h"

#define WARM_UP 100000
#define JOBS 1000000
#define READINGS 10

static long number_after(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	char line[200];
	long value = -1;

	bench_check(file != NULL, path);
	while (value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = atol(line + strlen(key));
	fclose(file);
	bench_check(value >= 0, key);
	return value;
}

static long available_kib(void)
{
	long best = 0, value;
	int i;

	for (i = 0; i < READINGS; i++) {
		int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

		if (fd >= 0) {
			if (write(fd, "3", 1) != 1)
				bench_die("drop_caches");
			close(fd);
		}
		usleep(100000);
		value = number_after("/proc/meminfo", "MemAvailable:");
		if (value > best)
			best = value;
	}
	return best;
}

static long resident_kib(void)
{
	return number_after("/proc/self/status", "VmRSS:");
}

/* Time of a job; prints it. */
static void run(struct bench_call *call, const char *who, int jobs)
{
	double start = bench_now();
	int i;

	for (i = 0; i < jobs; i++)
		bench_call_run(call);
	bench_print("growth_kib", who, "ns", (bench_now() - start) / jobs);
}

int main(void)
{
	struct bench_call call;
	long available, resident, kernel, application;

	bench_call_init(&call, 4096);
	/* All that is done below has been done once when the first reading is taken. */
	run(&call, "a job of the warm-up", WARM_UP);
	available_kib();
	resident_kib();

	available = available_kib();
	resident = resident_kib();
	run(&call, "a job", JOBS);
	kernel = available - available_kib();
	application = resident_kib() - resident;

	bench_print("growth_kib", "kernel", "KiB", kernel);
	bench_print("growth_kib", "application", "KiB", application);
	/* Less than before is no growth. */
	bench_print("growth_kib", "ours", "KiB",
		    (kernel > 0 ? kernel : 0) + (application > 0 ? application : 0));
	return 0;
}
