// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking for a contract: whether the terms can be, whether they are granted now or
 * when somebody gives something back, and the answer.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_contract.h"

#define AI_DEFAULT_FUSE_NS (300 * NSEC_PER_SEC)
/* 104 days: far enough for anybody, and near enough for jiffies. */
#define AI_MAX_WAIT_NS BIT_ULL(53)
#define AI_WHOLE_SHARE 1000000U
/* Within such a time a share is given, if one request does not take longer. */
#define AI_SHARE_NS (100 * NSEC_PER_MSEC)
#define AI_MIN_LAPSE_NS (10 * NSEC_PER_MSEC)
/* Who waits looks again after so long: not all that is freed is announced. */
#define AI_BUDGET_POLL_NS NSEC_PER_SEC

/* Somebody gave back what others may be waiting for. */
static atomic_t ai_budget_changes = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(ai_budget_wait);

void ai_contract_budget_freed(void)
{
	atomic_inc(&ai_budget_changes);
	if (wq_has_sleeper(&ai_budget_wait))
		wake_up_all(&ai_budget_wait);
}

/* ---- admission ---- */

static int ai_contract_reserve(struct ai_contract *contract, u32 i, struct ai_refusal *why)
{
	const struct ai_memory_term *memory = &contract->memory[i];
	struct ai_device *home = NULL;
	struct ai_reserve *reserve;

	why->device = memory->device;
	why->needed = memory->bytes;
	if (memory->device != AI_DEVICE_SYSTEM) {
		home = ai_device_lookup(memory->device);
		if (!home)
			return -ENODEV;
	}
	reserve = ai_reserve_create(home, memory->bytes, &why->available, &why->term);
	if (home)
		ai_device_put(home);
	if (IS_ERR(reserve))
		return PTR_ERR(reserve);
	contract->reserve[i] = reserve;
	return 0;
}

/* All or nothing. */
static int ai_contract_admit(struct ai_contract *contract, struct ai_refusal *why,
			     struct ai_claim *offer)
{
	int ret = 0;
	u32 i;

	lockdep_assert_held(&contract->lock);
	memset(why, 0, sizeof(*why));
	/* What is cheap to find out first. */
	if (contract->claim.deadline_ns)
		ret = ai_contract_claim(contract, why, offer);
	if (contract->terms.bandwidth && !ret)
		ret = ai_contract_hold_bandwidth(contract, why);
	for (i = 0; i < contract->nr_memory && !ret; i++)
		ret = ai_contract_reserve(contract, i, why);
	if (ret)
		ai_contract_let_go(contract);
	return ret;
}

static int ai_refusal_fail(struct ai_call *call, const struct ai_refusal *why, int error)
{
	switch (error) {
	case -EDQUOT:
		break;
	case -ENODEV:
		return ai_fail(call, error, "device %u failed or was removed", why->device);
	case -ENOMEM:
		return ai_fail(call, error, "the system has no memory for a contract");
	case -EINTR:
		return ai_fail(call, error, "a fatal signal ended the call");
	default:
		return error;
	}
	switch (why->term) {
	case AI_TERM_MEMORY:
		return ai_fail(call, error,
			       "memory of device %u is %llu bytes, %llu are neither allocated nor reserved",
			       why->device, why->needed, why->available);
	case AI_TERM_ADDRESSES:
		return ai_fail(call, error,
			       "memory of device %u is %llu bytes, the logical addresses for that are not free",
			       why->device, why->needed);
	case AI_TERM_RATE:
		return ai_fail(call, error,
			       "service_ns by period_ns would take device %u to %llu millionths of its time, contracts may have %llu",
			       why->device, why->needed, why->available);
	case AI_TERM_SHARE:
		return ai_fail(call, error,
			       "share would take device %u to %llu millionths of its time, contracts may have %llu",
			       why->device, why->needed, why->available);
	case AI_TERM_BANDWIDTH:
		return ai_fail(call, error,
			       "bandwidth is %llu bytes a second, device %u has %llu that are not promised",
			       why->needed, why->device, why->available);
	default:
		return ai_fail(call, error,
			       "latency_ns: on device %u what is due after %llu ns would take up to %llu ns",
			       why->device, why->available, why->needed);
	}
}

/* Ask until it is granted, it cannot be, or the time is over. */
static int ai_contract_admit_until(struct ai_contract *contract, s64 until,
				   struct ai_refusal *why, struct ai_claim *offer, u32 *waited_for)
{
	const struct ai_claim asked = contract->claim;
	const s64 poll = AI_BUDGET_POLL_NS;
	int seen, ret;
	long left;
	s64 now;

	*waited_for = AI_TERM_NONE;
	for (;;) {
		seen = atomic_read(&ai_budget_changes);
		*offer = asked;
		mutex_lock(&contract->lock);
		ret = ai_contract_admit(contract, why, offer);
		mutex_unlock(&contract->lock);
		now = ktime_get_ns();
		if (ret != -EDQUOT || !until || now >= until)
			return ret;
		*waited_for = why->term;
		left = wait_event_killable_timeout(ai_budget_wait,
						   atomic_read(&ai_budget_changes) != seen,
						   ai_jiffies_until(min(until, now + poll)));
		if (left < 0 || fatal_signal_pending(current))
			return -EINTR;
	}
}

/* ---- AI_CONTRACT_CREATE ---- */

static int ai_terms_check_fallback(struct ai_call *call, const struct ai_terms *terms)
{
	const u32 known = AI_TERMS_CRITICAL | AI_TERMS_DEGRADE;

	if (terms->flags & ~known)
		return ai_fail(call, -EINVAL, "flags of the terms are 0x%x, known bits are 0x%x",
			       terms->flags, known);
	if (terms->fallback > AI_FALLBACK_ALLOW)
		return ai_fail(call, -EINVAL, "fallback is %u, the highest known is %u",
			       terms->fallback, AI_FALLBACK_ALLOW);
	if (terms->fallback && (!terms->model || !terms->fallback_model))
		return ai_fail(call, -EINVAL,
			       "fallback is %u, it needs model and fallback_model, which are %u and %u",
			       terms->fallback, terms->model, terms->fallback_model);
	if (!terms->fallback && (terms->fallback_model || terms->flags))
		return ai_fail(call, -EINVAL,
			       "fallback is 0 (forbid), with it fallback_model and flags must be 0, too; they are %u and 0x%x",
			       terms->fallback_model, terms->flags);
	return 0;
}

static int ai_terms_check(struct ai_call *call, const struct ai_terms *terms)
{
	bool needs_device = terms->latency_ns || terms->period_ns || terms->service_ns ||
			    terms->energy_uj || terms->fuse_ns || terms->model ||
			    terms->burst || terms->power_mw || terms->bandwidth || terms->share ||
			    terms->precision || terms->fallback;

	if (terms->reserved)
		return ai_fail(call, -EINVAL, "reserved of the terms is 0x%x, it must be 0",
			       terms->reserved);
	if (terms->lapse_ns > AI_MAX_WAIT_NS ||
	    (terms->lapse_ns && terms->lapse_ns < AI_MIN_LAPSE_NS))
		return ai_fail(call, -EINVAL, "lapse_ns is %llu, it can be %lu to %llu",
			       terms->lapse_ns, AI_MIN_LAPSE_NS, AI_MAX_WAIT_NS);
	if (terms->fuse_ns > AI_MAX_WAIT_NS)
		return ai_fail(call, -EINVAL, "fuse_ns is %llu, the most is %llu", terms->fuse_ns,
			       AI_MAX_WAIT_NS);
	if (needs_device && !terms->device)
		return ai_fail(call, -EINVAL,
			       "device is 0, terms of service need the one where requests run");
	if (!needs_device && terms->device)
		return ai_fail(call, -EINVAL,
			       "device is %u, without a term of service it must be 0",
			       terms->device);
	if (!terms->latency_ns && (terms->period_ns || terms->burst))
		return ai_fail(call, -EINVAL,
			       "latency_ns is 0, with it period_ns and burst must be 0, too");
	if (terms->share > AI_WHOLE_SHARE)
		return ai_fail(call, -EINVAL, "share is %u, the whole is %u", terms->share,
			       AI_WHOLE_SHARE);
	if (terms->share && terms->latency_ns)
		return ai_fail(call, -EINVAL,
			       "share is %u and latency_ns %llu, a contract has one of them",
			       terms->share, terms->latency_ns);
	if (terms->precision > AI_PRECISION_FP64)
		return ai_fail(call, -EINVAL, "precision is %u, the highest known is %u",
			       terms->precision, AI_PRECISION_FP64);
	return ai_terms_check_fallback(call, terms);
}

static int ai_contract_read_memory(struct ai_call *call, struct ai_contract *contract, u64 user,
				   u32 count)
{
	const struct ai_memory_term __user *from = u64_to_user_ptr(user);
	u32 i, j;

	if (count > AI_MAX_CONTRACT_MEMORY)
		return ai_fail(call, -EINVAL, "nr_memory is %u, the most is %u", count,
			       AI_MAX_CONTRACT_MEMORY);
	if (copy_from_user(contract->memory, from, count * sizeof(*from)))
		return ai_fail(call, -EFAULT,
			       "memory is 0x%llx, no %u elements of the caller are there", user,
			       count);
	contract->nr_memory = count;
	for (i = 0; i < count; i++) {
		struct ai_memory_term *memory = &contract->memory[i];

		if (memory->reserved || memory->used || memory->la || memory->pages)
			return ai_fail(call, -EINVAL,
				       "memory %u: reserved, used, la and pages must be 0", i);
		if (!memory->bytes)
			return ai_fail(call, -EINVAL, "memory %u: bytes is 0, at least 1 is needed",
				       i);
		if (memory->bytes > AI_GPT_MAX_PAGES << PAGE_SHIFT)
			return ai_fail(call, -EFBIG,
				       "memory %u: bytes is %llu, at most %llu can be reserved at once",
				       i, memory->bytes, AI_GPT_MAX_PAGES << PAGE_SHIFT);
		memory->bytes = PAGE_ALIGN(memory->bytes);
		for (j = 0; j < i; j++)
			if (contract->memory[j].device == memory->device)
				return ai_fail(call, -EINVAL,
					       "memory %u: device is %u, as that of memory %u",
					       i, memory->device, j);
	}
	return 0;
}

/* A device of the memory terms must be there and have memory. */
static int ai_contract_check_homes(struct ai_call *call, const struct ai_contract *contract)
{
	struct ai_device *home;
	bool has;
	u32 i;

	for (i = 0; i < contract->nr_memory; i++) {
		u32 device = contract->memory[i].device;

		if (device == AI_DEVICE_SYSTEM)
			continue;
		home = ai_device_lookup(device);
		if (!home)
			return ai_fail(call, -ENOENT,
				       "memory %u: device is %u, no such device is registered", i,
				       device);
		has = home->mem_bytes;
		ai_device_put(home);
		if (!has)
			return ai_fail(call, -EOPNOTSUPP,
				       "memory %u: device is %u, which has no memory of its own", i,
				       device);
	}
	return 0;
}

static int ai_contract_find_device(struct ai_call *call, struct ai_contract *contract)
{
	u32 device = contract->terms.device;

	if (!device)
		return 0;
	contract->adev = ai_device_lookup(device);
	if (!contract->adev)
		return ai_fail(call, -ENOENT, "device is %u, no such device is registered", device);
	if (!(contract->adev->properties & AI_DEVICE_F_MODELS))
		return ai_fail(call, -EOPNOTSUPP, "device is %u, %s runs no models", device,
			       dev_name(&contract->adev->dev));
	if (contract->terms.bandwidth && !contract->adev->bandwidth)
		return ai_fail(call, -EOPNOTSUPP,
			       "bandwidth is %llu, %s does not say how much it can move",
			       contract->terms.bandwidth, dev_name(&contract->adev->dev));
	return 0;
}

/* The service time that counts: what is stated or what was measured, if longer. */
static int ai_contract_service(struct ai_call *call, struct ai_contract *contract)
{
	struct ai_terms *terms = &contract->terms;
	u64 measured;

	if (contract->model) {
		measured = READ_ONCE(contract->model->longest_ns);
		if (!measured && !terms->service_ns)
			return ai_fail(call, -EINVAL,
				       "service_ns is 0 and model %u (%s) has not run yet, so that its time is not known",
				       terms->model, contract->model->name);
		terms->service_ns = max(terms->service_ns, measured);
	}
	if (!terms->service_ns)
		return ai_fail(call, -EINVAL,
			       "service_ns is 0 and there is no model, so that the time of a request is not known");
	return 0;
}

/* The share as a claim: one request each time that it has paid for one. */
static int ai_contract_claim_share(struct ai_call *call, struct ai_contract *contract)
{
	const struct ai_terms *terms = &contract->terms;
	const u64 high = (1ULL << AI_LOGLIN_HIGH) - 1;
	struct ai_claim *claim = &contract->claim;
	u64 period;

	if (terms->service_ns > high)
		return ai_fail(call, -EINVAL, "service_ns is %llu, the most is %llu",
			       terms->service_ns, high);
	period = DIV64_U64_ROUND_UP(terms->service_ns * AI_WHOLE_SHARE, terms->share);
	if (period > high)
		return ai_fail(call, -EINVAL,
			       "share is %u millionths, with it one request of %llu ns takes %llu ns, the most is %llu",
			       terms->share, terms->service_ns, period, high);
	*claim = (struct ai_claim){
		.service_ns = terms->service_ns,
		.period_ns = period,
		.deadline_ns = max(period, (u64)AI_SHARE_NS),
		.burst = 1,
	};
	return 0;
}

static int ai_contract_make_claim(struct ai_call *call, struct ai_contract *contract)
{
	struct ai_terms *terms = &contract->terms;
	const u64 low = 1ULL << AI_LOGLIN_LOW, high = (1ULL << AI_LOGLIN_HIGH) - 1;
	struct ai_claim *claim = &contract->claim;
	int ret;

	if (!terms->latency_ns && !terms->share)
		return 0;
	ret = ai_contract_service(call, contract);
	if (ret)
		return ret;
	if (terms->share)
		return ai_contract_claim_share(call, contract);
	terms->burst = terms->burst ?: 1;
	*claim = (struct ai_claim){
		.service_ns = terms->service_ns,
		.period_ns = terms->period_ns,
		.deadline_ns = terms->latency_ns,
		.burst = terms->burst,
	};
	if (ai_claim_valid(claim))
		return 0;
	*claim = (struct ai_claim){};
	if (terms->latency_ns < low || terms->latency_ns > high)
		return ai_fail(call, -EINVAL, "latency_ns is %llu, it can be %llu to %llu",
			       terms->latency_ns, low, high);
	if (terms->service_ns > terms->latency_ns)
		return ai_fail(call, -EINVAL,
			       "latency_ns is %llu, less than service_ns of one request, %llu",
			       terms->latency_ns, terms->service_ns);
	if (terms->period_ns < terms->service_ns || terms->period_ns > high)
		return ai_fail(call, -EINVAL,
			       "period_ns is %llu, it can be from the service time, %llu, to %llu",
			       terms->period_ns, terms->service_ns, high);
	return ai_fail(call, -EINVAL,
		       "burst is %u, the most is %u, and requests that take %llu ns in all",
		       terms->burst, AI_ADMISSION_MOST_BURST, high);
}

static int ai_contract_check(struct ai_call *call, struct ai_contract *contract,
			     const struct ai_contract_create *arg)
{
	int ret;

	ret = ai_contract_read_memory(call, contract, arg->memory, arg->nr_memory);
	if (!ret)
		ret = ai_contract_check_homes(call, contract);
	if (!ret)
		ret = ai_contract_find_device(call, contract);
	if (!ret)
		ret = ai_fallback_check(call, contract);
	if (!ret)
		ret = ai_contract_make_claim(call, contract);
	if (!ret && contract->terms.fuse_ns == 0 && contract->adev)
		contract->terms.fuse_ns = AI_DEFAULT_FUSE_NS;
	return ret;
}

static int ai_create_check(struct ai_call *call, const struct ai_contract_create *arg)
{
	int ret;

	if (arg->reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", arg->reserved);
	if (arg->wait_until_ns < 0)
		return ai_fail(call, -EINVAL,
			       "wait_until_ns is %lld, it is a point in time after 0",
			       arg->wait_until_ns);
	ret = ai_check_name(call, arg->name, sizeof(arg->name));
	if (ret)
		return ret;
	ret = ai_terms_check(call, &arg->terms);
	if (ret)
		return ret;
	if (!arg->nr_memory && !arg->terms.device)
		return ai_fail(call, -EINVAL,
			       "nr_memory is 0 and there is no term of service, a contract needs one of them");
	return 0;
}

static void ai_create_answer(struct ai_contract_create *arg, const struct ai_contract *contract,
			     const struct ai_refusal *why, const struct ai_claim *offer)
{
	u64 others;

	arg->answer = AI_ANSWER_REFUSED;
	arg->term = why->term;
	arg->device = why->device;
	arg->needed = why->needed;
	arg->available = why->available;
	if (why->term == AI_TERM_BANDWIDTH && why->available) {
		arg->offered = 1;
		arg->offer = contract->terms;
		arg->offer.bandwidth = why->available;
	}
	/* Less what is lost in rounding. */
	others = why->needed + 2 - contract->terms.share;
	if (why->term == AI_TERM_SHARE && why->available > others) {
		arg->offered = 1;
		arg->offer = contract->terms;
		arg->offer.share = why->available - others;
	}
	if ((why->term != AI_TERM_RATE && why->term != AI_TERM_LATENCY) || !offer->deadline_ns ||
	    contract->terms.share)
		return;
	arg->offered = 1;
	arg->offer = contract->terms;
	arg->offer.latency_ns = offer->deadline_ns;
	arg->offer.period_ns = offer->period_ns;
	arg->offer.burst = offer->burst;
}

static void ai_decision_refused(const struct ai_contract *contract, const struct ai_refusal *why)
{
	ai_decision_contract(contract, &(struct ai_dump_decision){
		.kind = AI_DECISION_REFUSED,
		.term = why->term,
		.found = why->needed,
		.limit = why->available,
		.other = why->device == contract->terms.device ? 0 : why->device,
	});
}

int ai_ioctl_contract_create(struct ai_call *call, struct ai_contract_create *arg)
{
	struct ai_contract *contract;
	struct ai_refusal why;
	struct ai_claim offer;
	u32 waited_for;
	int ret;

	memset_startat(arg, 0, id);
	arg->fd = -1;
	ret = ai_create_check(call, arg);
	if (ret)
		return ret;
	contract = ai_contract_new(arg);
	if (!contract)
		return ai_fail(call, -ENOMEM, "the system has no memory for a contract");
	ret = ai_contract_check(call, contract, arg);
	if (ret)
		goto put;
	ret = ai_contract_admit_until(contract, arg->wait_until_ns, &why, &offer, &waited_for);
	if (ret == -EDQUOT) {
		ai_create_answer(arg, contract, &why, &offer);
		ai_decision_refused(contract, &why);
	}
	if (ret) {
		ai_refusal_fail(call, &why, ret);
		goto put;
	}
	ret = ai_contract_register(contract);
	if (ret) {
		why.device = arg->terms.device;
		ai_refusal_fail(call, &why, ret);
		goto let_go;
	}
	/* From here on the descriptor owns it, whether it is delivered or not. */
	ret = ai_contract_open(call, contract);
	if (ret) {
		ai_contract_close(contract);
		return ret;
	}
	ai_contract_watch(contract);
	ai_decision_contract(contract, &(struct ai_dump_decision){
		.kind = AI_DECISION_GRANTED,
		.term = waited_for,
	});
	arg->id = contract->id;
	arg->fd = call->new_fd;
	arg->answer = waited_for ? AI_ANSWER_GRANTED_AFTER_WAIT : AI_ANSWER_GRANTED;
	arg->term = waited_for;
	return 0;

let_go:
	mutex_lock(&contract->lock);
	ai_contract_let_go(contract);
	mutex_unlock(&contract->lock);
put:
	ai_contract_put(contract);
	return ret;
}

/* ---- AI_CONTRACT_RENEW ---- */

int ai_ioctl_contract_renew(struct ai_call *call, struct ai_contract_renew *arg)
{
	struct ai_contract *contract = call->filp->private_data;
	u32 reserved = arg->reserved;
	struct ai_refusal why;
	int ret = 0;

	memset_startat(arg, 0, answer);
	if (reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", reserved);

	mutex_lock(&contract->lock);
	if (contract->state == AI_CONTRACT_LAPSED) {
		ret = ai_contract_admit(contract, &why, NULL);
		if (!ret) {
			contract->state = AI_CONTRACT_ACTIVE;
			ai_sla_event(contract, &(struct ai_event){ .kind = AI_EVENT_RENEWED });
			ai_contract_watch(contract);
		}
	}
	WRITE_ONCE(contract->used_at, ktime_get_ns());
	mutex_unlock(&contract->lock);

	arg->answer = AI_ANSWER_GRANTED;
	if (!ret)
		return 0;
	if (ret == -EDQUOT)
		ai_decision_refused(contract, &why);
	arg->answer = ret == -EDQUOT ? AI_ANSWER_REFUSED : AI_ANSWER_NONE;
	arg->term = why.term;
	arg->device = why.device;
	arg->needed = why.needed;
	arg->available = why.available;
	return ai_refusal_fail(call, &why, ret);
}
