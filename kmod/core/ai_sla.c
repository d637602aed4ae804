// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of the requests of a contract: when each is due, whether the terms
 * were kept, the figures, the events and the fuse.
 */
#include <linux/math64.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_contract.h"

/* Requests running, failed or later than so many times their latency, that open the fuse. */
#define AI_FUSE_BAD 10
#define AI_FUSE_TIMES 3
/* A reading of a device's power is used for so long. */
#define AI_SAMPLE_NS (50 * NSEC_PER_MSEC)
/* A contract whose requests take too long is set back by so much at most. */
#define AI_DEBT_NS ((s64)BIT_ULL(53))
/* Times its service time by which a request may have overrun it and be made to pay. */
#define AI_OVERRUN_MOST 1000ULL

static_assert(sizeof(struct ai_event) == 64);

void ai_sla_init(struct ai_contract *contract)
{
	spin_lock_init(&contract->sla.lock);
}

void ai_sla_exit(struct ai_contract *contract)
{
	kvfree(contract->sla.latencies);
}

/* ---- events ---- */

/**
 * ai_sla_note() - record an event under the lock
 * @contract: the contract
 * @event: what happened; number, time and device are filled in
 *
 * ai_sla_wake() follows without the lock.
 */
void ai_sla_note(struct ai_contract *contract, const struct ai_event *event)
{
	struct ai_sla *sla = &contract->sla;
	struct ai_event *slot;
	u64 sequence;

	lockdep_assert_held(&sla->lock);
	sequence = ++sla->sequence;
	if (sequence - sla->read > AI_EVENTS_KEPT) {
		sla->read++;
		sla->lost++;
	}
	slot = &sla->event[sequence % AI_EVENTS_KEPT];
	*slot = *event;
	slot->sequence = sequence;
	slot->time_ns = ktime_get_ns();
	slot->device = contract->terms.device;
	ai_decision_event(contract, slot);
	if (event->kind == AI_EVENT_THROTTLED)
		sla->throttled = 0;
	if (event->kind == AI_EVENT_UNTHROTTLED)
		slot->jobs = sla->throttled;
}

void ai_sla_wake(struct ai_contract *contract)
{
	wake_up_interruptible_poll(&contract->wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * ai_sla_event() - record an event
 * @contract: the contract
 * @event: as for ai_sla_note()
 *
 * Any context.
 */
void ai_sla_event(struct ai_contract *contract, const struct ai_event *event)
{
	unsigned long flags;

	spin_lock_irqsave(&contract->sla.lock, flags);
	ai_sla_note(contract, event);
	spin_unlock_irqrestore(&contract->sla.lock, flags);
	ai_sla_wake(contract);
}

static bool ai_sla_has_event(struct ai_contract *contract)
{
	return READ_ONCE(contract->sla.sequence) != READ_ONCE(contract->sla.read);
}

/* The oldest event that was not read. */
static bool ai_sla_take_event(struct ai_contract *contract, struct ai_event *event)
{
	struct ai_sla *sla = &contract->sla;
	bool found;

	spin_lock_irq(&sla->lock);
	found = sla->read != sla->sequence;
	if (found)
		*event = sla->event[++sla->read % AI_EVENTS_KEPT];
	spin_unlock_irq(&sla->lock);
	return found;
}

/* The events after number @after that are still kept, the oldest first. */
u32 ai_sla_peek(struct ai_contract *contract, u64 after, struct ai_event *events, u32 capacity)
{
	struct ai_sla *sla = &contract->sla;
	u32 count = 0;
	u64 oldest;

	spin_lock_irq(&sla->lock);
	oldest = sla->sequence - min_t(u64, sla->sequence, AI_EVENTS_KEPT);
	for (after = max(after, oldest); after < sla->sequence && count < capacity; count++)
		events[count] = sla->event[++after % AI_EVENTS_KEPT];
	spin_unlock_irq(&sla->lock);
	return count;
}

ssize_t ai_sla_read(struct file *filp, char __user *to, size_t bytes, loff_t *pos)
{
	struct ai_contract *contract = filp->private_data;
	struct ai_event event;
	size_t done = 0;
	int ret;

	if (bytes < sizeof(event))
		return -EINVAL;
	while (!done) {
		if (!(filp->f_flags & O_NONBLOCK)) {
			ret = wait_event_interruptible(contract->wait, ai_sla_has_event(contract));
			if (ret)
				return ret;
		}
		while (bytes - done >= sizeof(event) && ai_sla_take_event(contract, &event)) {
			if (copy_to_user(to + done, &event, sizeof(event))) {
				spin_lock_irq(&contract->sla.lock);
				contract->sla.lost++;
				spin_unlock_irq(&contract->sla.lock);
				return done ?: -EFAULT;
			}
			done += sizeof(event);
		}
		/* Else another reader was quicker. */
		if (!done && filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
	}
	return done;
}

__poll_t ai_sla_poll(struct file *filp, struct poll_table_struct *table)
{
	struct ai_contract *contract = filp->private_data;

	poll_wait(filp, &contract->wait, table);
	return ai_sla_has_event(contract) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* ---- the fuse ---- */

static void ai_fuse_open(struct ai_contract *contract, u64 job)
{
	struct ai_sla *sla = &contract->sla;

	sla->fuse = AI_FUSE_OPEN;
	sla->fuse_until = ktime_get_ns() + contract->terms.fuse_ns;
	ai_sla_note(contract, &(struct ai_event){
		.kind = AI_EVENT_FUSE_OPENED,
		.job = job,
		.found = sla->bad,
		.limit = contract->terms.fuse_ns,
	});
}

static void ai_fuse_close(struct ai_contract *contract, u64 job)
{
	contract->sla.fuse = AI_FUSE_CLOSED;
	contract->sla.bad = 0;
	ai_sla_note(contract, &(struct ai_event){ .kind = AI_EVENT_FUSE_CLOSED, .job = job });
}

/* Whether a request may go; as the probe if one is due. */
static bool ai_fuse_pass(struct ai_contract *contract, struct ai_job *job)
{
	struct ai_sla *sla = &contract->sla;

	lockdep_assert_held(&sla->lock);
	if (sla->fuse == AI_FUSE_CLOSED)
		return true;
	if (sla->fuse == AI_FUSE_HALF_OPEN || ktime_get_ns() < sla->fuse_until) {
		sla->counts.refused++;
		return false;
	}
	sla->fuse = AI_FUSE_HALF_OPEN;
	job->probe = true;
	ai_sla_note(contract, &(struct ai_event){
		.kind = AI_EVENT_FUSE_HALF_OPENED,
		.job = job->id,
	});
	return true;
}

/* How a request ended, as far as the fuse is concerned. */
static void ai_fuse_judge(struct ai_contract *contract, struct ai_job *job, bool bad)
{
	struct ai_sla *sla = &contract->sla;

	lockdep_assert_held(&sla->lock);
	if (!contract->terms.fuse_ns)
		return;
	sla->bad = bad ? sla->bad + 1 : 0;
	/* Only a probe has a say once the fuse is open, unless somebody closed it meanwhile. */
	if (job->probe && sla->fuse == AI_FUSE_HALF_OPEN) {
		if (bad)
			ai_fuse_open(contract, job->id);
		else
			ai_fuse_close(contract, job->id);
	} else if (sla->fuse == AI_FUSE_CLOSED && sla->bad >= AI_FUSE_BAD) {
		ai_fuse_open(contract, job->id);
	}
}

/* The probe ended and tells nothing: the next request is one. */
static void ai_fuse_probe_again(struct ai_contract *contract, const struct ai_job *job)
{
	struct ai_sla *sla = &contract->sla;

	lockdep_assert_held(&sla->lock);
	if (!job->probe || sla->fuse != AI_FUSE_HALF_OPEN)
		return;
	sla->fuse = AI_FUSE_OPEN;
	sla->fuse_until = 0;
}

/* Returns whether it was not closed. */
bool ai_sla_fuse_reset(struct ai_contract *contract)
{
	unsigned long flags;
	bool change;

	spin_lock_irqsave(&contract->sla.lock, flags);
	change = contract->sla.fuse != AI_FUSE_CLOSED;
	if (change)
		ai_fuse_close(contract, 0);
	spin_unlock_irqrestore(&contract->sla.lock, flags);
	if (change)
		ai_sla_wake(contract);
	return change;
}

static int ai_fuse_fail(struct ai_call *call, struct ai_contract *contract, bool half_open,
			s64 left_ns)
{
	if (half_open)
		return ai_fail(call, -EAGAIN,
			       "the fuse of contract %llu (%s) is half open: a probe is under way",
			       contract->id, contract->name);
	return ai_fail(call, -EAGAIN,
		       "the fuse of contract %llu (%s) is open after %u requests running that failed or took %u times the latency; a probe is let through in %lld ms",
		       contract->id, contract->name, AI_FUSE_BAD, AI_FUSE_TIMES,
		       div_s64(left_ns, NSEC_PER_MSEC));
}

/* ---- the beginning of a request ---- */

/* Read the power of a device unless that was done a moment ago. May sleep. */
static void ai_device_sample(struct ai_device *adev)
{
	struct ai_sensors sensors;
	ktime_t now = ktime_get();
	unsigned long flags;
	bool fresh;

	spin_lock_irqsave(&adev->lock, flags);
	fresh = adev->sampled_at && ktime_to_ns(ktime_sub(now, adev->sampled_at)) < AI_SAMPLE_NS;
	spin_unlock_irqrestore(&adev->lock, flags);
	if (fresh)
		return;
	ai_device_read_sensors(adev, &sensors);
}

/* The next request is expected so much later. */
static void ai_sla_advance(struct ai_sla *sla, s64 from, u64 ns)
{
	lockdep_assert_held(&sla->lock);
	sla->tat = min(from + (s64)ns, (s64)ktime_get_ns() + AI_DEBT_NS);
}

static int ai_sla_prepare(struct ai_call *call, struct ai_contract *contract)
{
	u32 *latencies;

	if (READ_ONCE(contract->sla.latencies))
		return 0;
	latencies = kvcalloc(AI_LOGLIN_BUCKETS, sizeof(*latencies), GFP_KERNEL_ACCOUNT);
	if (!latencies)
		return ai_fail(call, -ENOMEM, "the system has no memory for a histogram");
	if (cmpxchg(&contract->sla.latencies, NULL, latencies))
		kvfree(latencies);
	return 0;
}

/* Tensor data of a request: its inputs and what its outputs take, or have room for. */
static u64 ai_job_bytes(struct ai_job *job, bool ended)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < job->nr_inputs; i++)
		bytes += job->tensor[i].bytes;
	for (i = 0; i < job->nr_outputs; i++) {
		const struct ai_job_tensor *out = ai_job_output(job, i);

		bytes += ended ? min(out->needed, out->bytes) : out->bytes;
	}
	return bytes;
}

/* Whether what the contract has moved is paid for at the bandwidth of its terms. */
static bool ai_sla_bandwidth(struct ai_contract *contract, struct ai_job *job)
{
	struct ai_sla *sla = &contract->sla;
	u64 bandwidth = contract->terms.bandwidth;
	s64 now = ktime_get_ns();
	s64 ns = AI_DEBT_NS;
	u64 bytes;

	lockdep_assert_held(&sla->lock);
	if (!bandwidth)
		return true;
	if (now < sla->bytes_tat)
		return false;
	bytes = ai_job_bytes(job, false);
	/* The quotient of what follows must fit 64 bits. */
	if (div64_u64(bytes, bandwidth) < AI_DEBT_NS / NSEC_PER_SEC)
		ns = mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, bandwidth);
	sla->bytes_tat = now + ns;
	return true;
}

/*
 * When the request is due. One that comes sooner than the rate allows has no claim,
 * so that it takes nothing from others: the generic cell rate algorithm of ITU-T
 * I.371, with a tolerance of burst - 1 periods. The turn of one with a share comes
 * while it waits.
 */
static void ai_sla_schedule(struct ai_contract *contract, struct ai_job *job)
{
	const struct ai_claim *claim = &contract->claim;
	struct ai_sla *sla = &contract->sla;
	s64 now = ktime_get_ns();
	s64 earliest = sla->tat - (s64)((claim->burst - 1) * claim->period_ns);

	lockdep_assert_held(&sla->lock);
	job->excess = !ai_sla_bandwidth(contract, job);
	if (job->excess || !READ_ONCE(contract->claimed))
		return;
	if (contract->terms.share) {
		job->shared = true;
		return;
	}
	job->excess = now < earliest;
	if (job->excess)
		return;
	job->claimed = true;
	job->due_ns = now + claim->deadline_ns;
	ai_sla_advance(sla, max(now, sla->tat), claim->period_ns);
}

/**
 * ai_contract_begin() - a request of a contract is about to be submitted
 * @call: the call
 * @job: new
 * @contract: the contract
 *
 * When it returns 0 the job has a reference to the contract and ends with
 * ai_contract_job_done() or, if it is never submitted, with ai_contract_abandon().
 *
 * Return: 0; -EINVAL when it is for another device, -ESTALE, -EAGAIN, -ENOMEM.
 */
int ai_contract_begin(struct ai_call *call, struct ai_job *job, struct ai_contract *contract)
{
	struct ai_sla *sla = &contract->sla;
	bool passed, half_open;
	s64 left;
	int ret;

	if (contract->adev && job->adev != contract->adev && !job->moved)
		return ai_fail(call, -EINVAL,
			       "model %s is on %s, the terms of contract %llu (%s) are for %s",
			       job->model->name, dev_name(&job->adev->dev), contract->id,
			       contract->name, dev_name(&contract->adev->dev));
	ret = ai_fallback_precision(call, contract, job->model);
	if (!ret)
		ret = ai_sla_prepare(call, contract);
	if (!ret)
		ret = ai_contract_enter(call, contract);
	if (ret)
		return ret;
	ai_device_sample(job->adev);

	/* In this order, as when a device is lost: closing the contract looks at both. */
	spin_lock_irq(&job->adev->lock);
	spin_lock(&sla->lock);
	passed = ai_fuse_pass(contract, job);
	if (passed)
		ai_fallback_begin(contract, job);
	if (passed && !job->moved)
		ai_sla_schedule(contract, job);
	half_open = sla->fuse == AI_FUSE_HALF_OPEN;
	left = max_t(s64, sla->fuse_until - ktime_get_ns(), 0);
	spin_unlock(&sla->lock);
	if (job->claimed)
		ai_job_count(job);
	spin_unlock_irq(&job->adev->lock);
	if (!passed) {
		ai_contract_leave(contract);
		return ai_fuse_fail(call, contract, half_open, left);
	}
	if (job->probe)
		ai_sla_wake(contract);
	kref_get(&contract->ref);
	job->contract = contract;
	return 0;
}

/* The job goes, and was never submitted or told of. */
void ai_contract_abandon(struct ai_job *job)
{
	struct ai_contract *contract = job->contract;
	unsigned long flags;

	spin_lock_irqsave(&job->adev->lock, flags);
	ai_job_uncount(job);
	spin_unlock_irqrestore(&job->adev->lock, flags);
	if (!job->judged) {
		spin_lock_irqsave(&contract->sla.lock, flags);
		ai_fuse_probe_again(contract, job);
		ai_fallback_no_trial(contract, job);
		spin_unlock_irqrestore(&contract->sla.lock, flags);
		ai_contract_leave(contract);
	}
	ai_contract_put(contract);
}

/* ---- the end ---- */

/* The caller, or what it gave, is why there is no result: its own time-out, too. */
bool ai_job_own_fault(const struct ai_job *job)
{
	u64 limit_ns = job->adev->job_timeout_ms * (u64)NSEC_PER_MSEC;

	switch (job->result.error) {
	case -EIO:
	case -ENODEV:
		return false;
	case -ETIME:
		return !job->started ||
		       ktime_to_ns(ktime_sub(job->ended, job->started)) < limit_ns;
	default:
		return true;
	}
}

static void ai_sla_check(struct ai_contract *contract, struct ai_job *job, u64 found, u64 limit,
			 enum ai_term term, enum ai_event_kind kind)
{
	struct ai_event event;

	if (!limit || found <= limit)
		return;
	job->broken |= 1U << term;
	event = (struct ai_event){
		.kind = kind,
		.job = job->id,
		.found = found,
		.limit = limit,
		.term = term,
		.other = job->moved ? job->adev->id : 0,
	};
	contract->sla.breach = event;
	ai_sla_note(contract, &event);
}

/* It kept the device for longer than was said: the rest counts like more requests. */
static void ai_sla_overrun(struct ai_contract *contract, const struct ai_job *job)
{
	const struct ai_claim *claim = &contract->claim;
	u64 over;

	if (!job->claimed || job->service_ns <= claim->service_ns)
		return;
	contract->sla.counts.overruns++;
	over = min(job->service_ns - claim->service_ns, claim->service_ns * AI_OVERRUN_MOST);
	ai_sla_advance(&contract->sla, contract->sla.tat,
		       mul_u64_u64_div_u64(over, claim->period_ns, claim->service_ns));
}

static void ai_sla_result(struct ai_contract *contract, struct ai_job *job)
{
	const struct ai_terms *terms = &contract->terms;
	struct ai_sla *sla = &contract->sla;
	u64 latency = ktime_to_ns(ktime_sub(job->ended, job->submitted));
	u64 bad;

	sla->counts.jobs++;
	sla->counts.bytes += ai_job_bytes(job, true);
	sla->counts.latency_max_ns = max(sla->counts.latency_max_ns, latency);
	sla->latencies[ai_loglin_bucket(latency)]++;
	ai_sla_check(contract, job, job->energy_uj, terms->energy_uj, AI_TERM_ENERGY,
		     AI_EVENT_ENERGY);
	ai_sla_check(contract, job, job->power_mw, terms->power_mw, AI_TERM_POWER,
		     AI_EVENT_POWER);
	if (!job->excess)
		ai_sla_check(contract, job, latency, terms->latency_ns, AI_TERM_LATENCY,
			     AI_EVENT_LATENCY);

	if (job->result.throttled) {
		sla->counts.throttled++;
		sla->throttled++;
	}
	if (job->broken) {
		job->service = AI_SERVICE_VIOLATED;
		sla->counts.violated++;
	} else if (job->moved) {
		job->service = AI_SERVICE_DEGRADED;
		sla->counts.degraded++;
	} else if (job->excess) {
		job->service = AI_SERVICE_EXCESS;
		sla->counts.excess++;
	} else {
		job->service = AI_SERVICE_MET;
		sla->counts.met++;
	}
	bad = terms->latency_ns && !job->excess && latency > AI_FUSE_TIMES * terms->latency_ns;
	ai_fuse_judge(contract, job, bad);
	if (job->moved && terms->fallback == AI_FALLBACK_WARN)
		ai_sla_note(contract, &(struct ai_event){
			.kind = AI_EVENT_DEGRADED,
			.job = job->id,
			.found = job->model->precision,
			.limit = max(contract->model->precision, terms->precision),
			.term = job->moved,
			.other = job->adev->id,
		});
	ai_fallback_judge(contract, job, !job->broken);
}

static void ai_sla_failed(struct ai_contract *contract, struct ai_job *job)
{
	struct ai_sla *sla = &contract->sla;

	sla->counts.failed++;
	if (ai_job_own_fault(job)) {
		ai_fuse_probe_again(contract, job);
		ai_fallback_no_trial(contract, job);
		return;
	}
	sla->breach = (struct ai_event){
		.kind = AI_EVENT_FAILED,
		.job = job->id,
		.found = -job->result.error,
		.term = AI_TERM_DEVICE,
		.other = job->moved ? job->adev->id : 0,
	};
	ai_sla_note(contract, &sla->breach);
	ai_fuse_judge(contract, job, true);
	ai_fallback_judge(contract, job, false);
}

/* The job has ended; nobody who waits for it knows yet. Any context. */
void ai_contract_job_done(struct ai_job *job)
{
	struct ai_contract *contract = job->contract;
	struct ai_sla *sla = &contract->sla;
	unsigned long flags;
	u64 before;

	/* mW * ns are 10^-12 J. */
	job->energy_uj = mul_u64_u64_div_u64(job->power_mw, job->service_ns, 1000000);

	spin_lock_irqsave(&sla->lock, flags);
	before = sla->sequence;
	job->judged = true;
	if (job->started)
		sla->counts.queue_ns += ktime_to_ns(ktime_sub(job->started, job->submitted));
	sla->counts.run_ns += job->service_ns;
	sla->counts.energy_uj += job->energy_uj;
	ai_sla_overrun(contract, job);
	if (!job->result.error)
		ai_sla_result(contract, job);
	else
		ai_sla_failed(contract, job);
	before = sla->sequence - before;
	spin_unlock_irqrestore(&sla->lock, flags);
	if (before)
		ai_sla_wake(contract);
	ai_contract_leave(contract);
}

/* ---- figures ---- */

/* The upper end of the bucket in which that share of all results, in 1/1000, is. */
static u64 ai_sla_quantile(const struct ai_sla *sla, u32 share)
{
	u64 total = sla->counts.jobs, most = sla->counts.latency_max_ns;
	u64 rank = DIV_ROUND_UP_ULL(total * share, 1000), seen = 0;
	u32 bucket;

	if (!total)
		return 0;

	for (bucket = 0; bucket < AI_LOGLIN_BUCKETS; bucket++) {
		seen += sla->latencies[bucket];
		if (seen >= rank)
			break;
	}
	return min(ai_loglin_upper(min(bucket, AI_LOGLIN_BUCKETS - 1)), most);
}

/* All figures of one moment. */
void ai_sla_fill(struct ai_contract *contract, struct ai_contract_info *info)
{
	struct ai_sla *sla = &contract->sla;

	spin_lock_irq(&sla->lock);
	info->fuse = sla->fuse;
	info->fuse_left_ns = sla->fuse == AI_FUSE_OPEN ?
			     max_t(s64, sla->fuse_until - (s64)ktime_get_ns(), 0) : 0;
	info->jobs = sla->counts.jobs;
	info->failed = sla->counts.failed;
	info->met = sla->counts.met;
	info->violated = sla->counts.violated;
	info->excess = sla->counts.excess;
	info->degraded = sla->counts.degraded;
	info->throttled = sla->counts.throttled;
	info->moved = sla->moved;
	info->reserved = 0;
	info->moved_left_ns = sla->moved ?
			      max_t(s64, sla->moved_until - (s64)ktime_get_ns(), 0) : 0;
	info->overruns = sla->counts.overruns;
	info->refused = sla->counts.refused;
	info->queue_ns = sla->counts.queue_ns;
	info->run_ns = sla->counts.run_ns;
	info->energy_uj = sla->counts.energy_uj;
	info->bytes = sla->counts.bytes;
	info->events = sla->sequence;
	info->events_lost = sla->lost;
	info->latency_p50_ns = ai_sla_quantile(sla, 500);
	info->latency_p95_ns = ai_sla_quantile(sla, 950);
	info->latency_p99_ns = ai_sla_quantile(sla, 990);
	info->latency_p999_ns = ai_sla_quantile(sla, 999);
	info->latency_max_ns = sla->counts.latency_max_ns;
	spin_unlock_irq(&sla->lock);
}
