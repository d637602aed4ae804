// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contracts, on a software device that takes 1 ms a job.
 *
 * contract_ops_10, contract_ops_10000: one contract is made, renewed and closed while
 * there are so many others.
 * isolation_p99_ratio: the p99 of a contract under a saturating load of others, beside
 * its p99 alone plus one job. fifo_p99_ratio: the same without the contract.
 * accepted_missed: requests of nine contracts that have 90 % of the device that were
 * late, of 100,000.
 */
#include "bench.h"

#include <pthread.h>
#include <sys/resource.h>

#define MS 1000000LL
#define JOB_NS MS
#define CROWD 8 /* callers without a contract, always with a job */
#define SAMPLES 2000
#define KEPT 9
#define KEPT_REQUESTS 100000

static int fd;
static uint32_t device;

static int contract_make(const struct ai_terms *terms, uint64_t bytes)
{
	struct ai_memory_term memory = { .bytes = bytes };
	struct ai_contract_create arg = {
		.hdr = { .size = sizeof(arg) }, .memory = (uintptr_t)&memory,
		.nr_memory = !!bytes, .terms = *terms, .name = "bench",
	};

	bench_check(!ioctl(fd, AI_CONTRACT_CREATE, &arg), "AI_CONTRACT_CREATE");
	return arg.fd;
}

static int contract_small(void)
{
	struct ai_terms terms = { .device = device, .latency_ns = 10000 * MS,
				  .period_ns = 100000 * MS, .service_ns = 2000 };

	return contract_make(&terms, 4096);
}

static void make_renew_close(void *arg)
{
	struct ai_contract_renew renew = { .hdr = { .size = sizeof(renew) } };
	int contract = contract_small();

	(void)arg;
	bench_check(!ioctl(contract, AI_CONTRACT_RENEW, &renew), "AI_CONTRACT_RENEW");
	close(contract);
}

static void measure_ops(void)
{
	static const int steps[] = { 10, 10000 };
	static int contract[10000];
	double cost[2];
	int i, made = 0;

	for (i = 0; i < 2; i++) {
		while (made < steps[i])
			contract[made++] = contract_small();
		cost[i] = bench_measure(make_renew_close, NULL, 50);
	}
	while (made > 0)
		close(contract[--made]);
	bench_print("contract_ops_10", "ours", "ns", cost[0]);
	bench_print("contract_ops_10000", "ours", "ns", cost[1]);
	bench_print("contract_ops_10000", "with 10 contracts", "ns", cost[0]);
}

/* ---- requests ---- */

struct caller {
	struct bench_call call;
	pthread_t thread;
	uint64_t period_ns; /* 0: one after the other until told to stop */
	int requests;
	int missed;
	uint64_t *latency;
};

static volatile bool stop;

static void sleep_until(long long ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *caller_run(void *arg)
{
	struct caller *caller = arg;
	long long next = bench_now();
	int i;

	for (i = 0; caller->period_ns ? i < caller->requests : !stop; i++) {
		if (caller->period_ns) {
			sleep_until(next);
			/* Never sooner than a period after the last one: with 1 % for the way. */
			next = (long long)bench_now() + caller->period_ns * 101 / 100;
		}
		bench_call_run(&caller->call);
		if (caller->latency)
			caller->latency[i] = caller->call.infer.latency_ns;
		caller->missed += caller->call.infer.service == AI_SERVICE_VIOLATED;
	}
	return NULL;
}

static void caller_start(struct caller *caller, int contract)
{
	bench_call_init(&caller->call, 4096);
	if (contract >= 0) {
		caller->call.infer.hdr.flags = AI_INFER_CONTRACT;
		caller->call.infer.contract = contract;
	}
	bench_check(!pthread_create(&caller->thread, NULL, caller_run, caller), "pthread_create");
}

static void caller_end(struct caller *caller)
{
	pthread_join(caller->thread, NULL);
	close(caller->call.fd);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The p99 of the latency of requests with or without a contract, beside a crowd or alone. */
static double p99(int contract, int crowd)
{
	static uint64_t latency[SAMPLES];
	struct caller others[CROWD] = {};
	struct caller caller = { .period_ns = 7300000, .requests = SAMPLES, .latency = latency };
	int i;

	stop = false;
	for (i = 0; i < crowd; i++)
		caller_start(&others[i], -1);
	caller_start(&caller, contract);
	caller_end(&caller);
	stop = true;
	for (i = 0; i < crowd; i++)
		caller_end(&others[i]);
	qsort(latency, SAMPLES, sizeof(*latency), ascending);
	return latency[SAMPLES * 99 / 100];
}

static void measure_isolation(void)
{
	struct ai_terms terms = { .device = device, .latency_ns = 5 * MS, .period_ns = 7 * MS,
				  .service_ns = JOB_NS + JOB_NS / 20 };
	int contract = contract_make(&terms, 0);
	double alone = p99(contract, 0), crowded = p99(contract, CROWD), fifo;

	close(contract);
	fifo = p99(-1, CROWD);
	bench_print("isolation_p99_ratio", "ours", "permille", 1000 * crowded / (alone + JOB_NS));
	bench_print("isolation_p99_ratio", "in order of arrival", "permille",
		    1000 * fifo / (alone + JOB_NS));
}

static void measure_kept(void)
{
	struct caller caller[KEPT] = {};
	int contract[KEPT], i, missed = 0, excess = 0, overruns = 0;
	struct ai_terms terms = { .device = device, .service_ns = JOB_NS + JOB_NS / 20,
				  .latency_ns = 25 * MS };

	terms.period_ns = 10 * terms.service_ns;
	for (i = 0; i < KEPT; i++)
		contract[i] = contract_make(&terms, 0);
	for (i = 0; i < KEPT; i++) {
		caller[i].period_ns = terms.period_ns;
		caller[i].requests = KEPT_REQUESTS / KEPT + 1;
		caller_start(&caller[i], contract[i]);
	}
	for (i = 0; i < KEPT; i++) {
		struct ai_contract_info info = { .hdr = { .size = sizeof(info) } };

		caller_end(&caller[i]);
		bench_check(!ioctl(contract[i], AI_CONTRACT_QUERY, &info), "AI_CONTRACT_QUERY");
		excess += info.excess;
		overruns += info.overruns;
		missed += caller[i].missed;
		close(contract[i]);
	}
	bench_print("accepted_missed", "ours", "requests", missed);
	/* Then they were not judged, and the figure would say nothing. */
	errno = EDOM;
	bench_check(!excess && !overruns, "requests came too soon, or took too long");
}

int main(void)
{
	struct rlimit limit = { 20000, 20000 };

	bench_check(!setrlimit(RLIMIT_NOFILE, &limit), "RLIMIT_NOFILE");
	fd = bench_open();
	device = bench_device(fd);
	measure_ops();
	measure_isolation();
	measure_kept();
	return 0;
}
