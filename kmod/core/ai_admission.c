// SPDX-License-Identifier: GPL-2.0-only
/*
 * The schedulability test. A device serves requests one after the other, without
 * preemption, the earliest deadline first. Claim i sends at most b_i + s / T_i
 * requests in any time s, each of which takes at most C_i and is due D_i after it
 * came. All are on time if for every deadline t = D_k
 *
 *	sum over D_i <= t of C_i * (b_i + (t - D_i) / T_i) + B(t) <= t
 *
 * and the sum of C_i / T_i is not above one. That is the test for earliest deadline
 * first with traffic shaped by token buckets: J. Liebeherr, D. Wrege, D. Ferrari,
 * "Exact Admission Control for Networks with a Bounded Delay Service", IEEE/ACM
 * Transactions on Networking 4(6), 1996; between the deadlines the slack only
 * grows, since the left side rises no faster than the right.
 *
 * B(t) is the work that cannot be taken back when the first of the requests due
 * by t comes. Let X be the last job due after t that was given to the device before
 * a request J due by t was. When that happened no request due by t was waiting, so
 * what lies before J is what was in flight then, and what is due by t and came since.
 * In flight are as many jobs as the device is given at once: X, and before it others
 * of any deadline, among them at most one without a claim, because such a job is
 * only given to a device that has nothing else.
 *
 * Deadlines are rounded down and services, where they block, up to buckets of 1/32:
 * the test costs the same however many claims there are, and errs on the safe side.
 * See Documentation/contracts.md.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#endif
#include "ai_admission.h"

/* a * b / 2^32, rounded up; @a is a rate, not above 2^33, @b is below 2^38. */
static u64 ai_rate_work(u64 rate, u64 ns)
{
	return mul_u64_u64_shr(rate, ns, 32) + 1;
}

/* Whether its numbers are in the range that the table has, and agree. */
bool ai_claim_valid(const struct ai_claim *claim)
{
	const u64 low = 1ULL << AI_LOGLIN_LOW, high = 1ULL << AI_LOGLIN_HIGH;

	return claim->deadline_ns >= low && claim->deadline_ns < high &&
	       claim->service_ns && claim->service_ns <= claim->deadline_ns &&
	       claim->period_ns >= claim->service_ns && claim->period_ns < high &&
	       claim->burst && claim->burst <= AI_ADMISSION_MOST_BURST &&
	       claim->burst <= high / claim->service_ns;
}

/* Share of the device's time, in 2^-32, rounded up. */
u64 ai_claim_rate(const struct ai_claim *claim)
{
	return mul_u64_u64_div_u64(claim->service_ns, 1ULL << 32, claim->period_ns) + 1;
}

static void ai_admission_change(struct ai_admission *adm, const struct ai_claim *claim, int sign)
{
	u32 bucket = ai_loglin_bucket(claim->deadline_ns);
	u64 rate = ai_claim_rate(claim) * sign;

	adm->rate += rate;
	adm->nr += sign;
	adm->bucket_rate[bucket] += rate;
	adm->burst_ns[bucket] += claim->service_ns * claim->burst * sign;
	adm->deadlines[bucket] += sign;
	adm->services[ai_loglin_bucket(claim->service_ns)] += sign;
}

/**
 * ai_admission_add() - admit a claim
 * @adm: the claims
 * @claim: valid, and tested
 */
void ai_admission_add(struct ai_admission *adm, const struct ai_claim *claim)
{
	ai_admission_change(adm, claim, 1);
}

/**
 * ai_admission_remove() - let go of a claim
 * @adm: the claims
 * @claim: as it was added
 */
void ai_admission_remove(struct ai_admission *adm, const struct ai_claim *claim)
{
	ai_admission_change(adm, claim, -1);
}

/* The longest service of any claim, the new one included. */
static u64 ai_admission_longest(const struct ai_admission *adm, const struct ai_claim *claim)
{
	u32 bucket;

	for (bucket = AI_LOGLIN_BUCKETS; bucket-- > 0;)
		if (adm->services[bucket])
			return max(ai_loglin_upper(bucket), claim->service_ns);
	return claim->service_ns;
}

/* The bucket of the latest deadline. */
static u32 ai_admission_last(const struct ai_admission *adm, u32 new_bucket)
{
	u32 bucket;

	for (bucket = AI_LOGLIN_BUCKETS; bucket-- > new_bucket;)
		if (adm->deadlines[bucket])
			return bucket;
	return new_bucket;
}

/**
 * ai_admission_test() - whether a claim can be kept with all admitted ones
 * @adm: the admitted claims
 * @claim: one more; valid
 * @load: of the device
 *
 * Return: what is short, or %AI_ADMISSION_FITS.
 */
struct ai_shortfall ai_admission_test(const struct ai_admission *adm, const struct ai_claim *claim,
				      const struct ai_admission_load *load)
{
	u64 longest = ai_admission_longest(adm, claim);
	u64 blocking = max(longest, load->other_ns) + (load->inflight - 1) * longest;
	u32 bucket, new_bucket = ai_loglin_bucket(claim->deadline_ns);
	u32 last = ai_admission_last(adm, new_bucket);
	u64 rate = 0, work = 0, before = 0;

	if (adm->rate + ai_claim_rate(claim) > AI_ADMISSION_MOST_RATE)
		return (struct ai_shortfall){ AI_ADMISSION_RATE, adm->rate + ai_claim_rate(claim),
					      AI_ADMISSION_MOST_RATE };

	for (bucket = 0; bucket <= last; bucket++) {
		u64 due = ai_loglin_lower(bucket), needed;

		if (!adm->deadlines[bucket] && bucket != new_bucket)
			continue;
		work += ai_rate_work(rate, due - before) + adm->burst_ns[bucket];
		rate += adm->bucket_rate[bucket];
		if (bucket == new_bucket) {
			work += claim->service_ns * claim->burst;
			rate += ai_claim_rate(claim);
		}
		before = due;
		needed = work + (bucket < last ? blocking : load->other_ns);
		if (needed > due)
			return (struct ai_shortfall){ AI_ADMISSION_LATENCY, needed, due };
	}
	return (struct ai_shortfall){ AI_ADMISSION_FITS };
}

static bool ai_admission_fits(const struct ai_admission *adm, const struct ai_claim *claim,
			      const struct ai_admission_load *load)
{
	return ai_admission_test(adm, claim, load).result == AI_ADMISSION_FITS;
}

/* The shortest deadline with which it fits, not below the one it has. */
static bool ai_admission_offer_deadline(const struct ai_admission *adm, struct ai_claim *claim,
					const struct ai_admission_load *load)
{
	u32 low = ai_loglin_bucket(claim->deadline_ns) + 1, high = AI_LOGLIN_BUCKETS - 1;
	struct ai_claim trial = *claim;

	trial.deadline_ns = ai_loglin_lower(high);
	if (low > high || !ai_admission_fits(adm, &trial, load))
		return false;
	while (low < high) {
		u32 middle = (low + high) / 2;

		trial.deadline_ns = ai_loglin_lower(middle);
		if (ai_admission_fits(adm, &trial, load))
			high = middle;
		else
			low = middle + 1;
	}
	claim->deadline_ns = ai_loglin_lower(high);
	return true;
}

/**
 * ai_admission_offer() - the nearest claim that would be admitted
 * @adm: the admitted claims
 * @claim: valid; changed into the offer: a later deadline if that is enough, else
 *	fewer requests at once, or fewer a second, as well
 * @load: of the device
 *
 * Return: false if there is none: the device is full, or one request alone makes
 * another claim late.
 */
bool ai_admission_offer(const struct ai_admission *adm, struct ai_claim *claim,
			const struct ai_admission_load *load)
{
	u64 left = AI_ADMISSION_MOST_RATE - min(adm->rate, AI_ADMISSION_MOST_RATE);
	struct ai_claim trial = *claim;

	if (ai_claim_rate(&trial) > left) {
		/* Two less than there is: each rate is rounded up. The period must be in range. */
		if (left <= 2 || left - 2 <= trial.service_ns >> 5)
			return false;
		trial.period_ns = mul_u64_u64_div_u64(trial.service_ns, 1ULL << 32, left - 2) + 1;
		if (!ai_claim_valid(&trial))
			return false;
	}
	while (!ai_admission_fits(adm, &trial, load) &&
	       !ai_admission_offer_deadline(adm, &trial, load)) {
		if (trial.burst == 1)
			return false;
		trial.burst /= 2;
	}
	*claim = trial;
	return true;
}
