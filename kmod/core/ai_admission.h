/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a device can keep one more promise of latency. Pure arithmetic: no
 * locks, no allocation; also built for userspace by tests/kernel.
 */
#ifndef AI_ADMISSION_H
#define AI_ADMISSION_H

#include "ai_loglin.h"

/* Share of a device that contracts may have in all, in 2^-32: 95 %. */
#define AI_ADMISSION_MOST_RATE (((1ULL << 32) / 100) * 95)
/* Requests that a claim may send at once. */
#define AI_ADMISSION_MOST_BURST (1U << 16)
/* Jobs in flight on a device with claims: one runs, one is ready to follow. */
#define AI_ADMISSION_INFLIGHT 2U

/**
 * struct ai_claim - what a contract asks of a device
 * @service_ns: longest time one request keeps the device busy
 * @period_ns: mean time between requests
 * @deadline_ns: time from a request to its end, at most
 * @burst: requests that may come at once
 */
struct ai_claim {
	u64 service_ns;
	u64 period_ns;
	u64 deadline_ns;
	u32 burst;
};

/**
 * struct ai_admission - the claims admitted on a device
 * @rate: sum of service / period, in 2^-32
 * @nr: claims
 * @burst_ns: by bucket of the deadline: work that may come at once
 * @bucket_rate: by bucket of the deadline: sum of service / period, in 2^-32
 * @deadlines: claims by bucket of the deadline
 * @services: claims by bucket of the service time
 */
struct ai_admission {
	u64 rate;
	u32 nr;
	u64 burst_ns[AI_LOGLIN_BUCKETS];
	u64 bucket_rate[AI_LOGLIN_BUCKETS];
	u32 deadlines[AI_LOGLIN_BUCKETS];
	u32 services[AI_LOGLIN_BUCKETS];
};

/* The claims on a device as far as the test depends on them. */
struct ai_admission_load {
	u32 inflight; /* jobs that the device is given at once, 1 or 2 */
	u64 other_ns; /* longest job without a claim */
};

enum ai_admission_result {
	AI_ADMISSION_FITS = 0,
	AI_ADMISSION_RATE, /* the device has not so much time in the long run */
	AI_ADMISSION_LATENCY, /* somebody's deadline might pass */
};

/**
 * struct ai_shortfall - why a claim does not fit
 * @result: what is short
 * @needed: of %AI_ADMISSION_RATE the share in 2^-32 there would be; of
 *	%AI_ADMISSION_LATENCY the time in ns at which all due at @available is done
 * @available: the share there may be; the deadline that would pass, in ns
 */
struct ai_shortfall {
	enum ai_admission_result result;
	u64 needed;
	u64 available;
};

bool ai_claim_valid(const struct ai_claim *claim);
u64 ai_claim_rate(const struct ai_claim *claim);
struct ai_shortfall ai_admission_test(const struct ai_admission *adm, const struct ai_claim *claim,
				      const struct ai_admission_load *load);
void ai_admission_add(struct ai_admission *adm, const struct ai_claim *claim);
void ai_admission_remove(struct ai_admission *adm, const struct ai_claim *claim);
bool ai_admission_offer(const struct ai_admission *adm, struct ai_claim *claim,
			const struct ai_admission_load *load);

#endif /* AI_ADMISSION_H */
