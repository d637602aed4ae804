// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last decisions about each device, for dumps. Those about jobs are kept apart:
 * a caller whose jobs fail all the time shall not make the others forgotten.
 */
#include <linux/slab.h>

#include "ai_contract.h"
#include "ai_dump.h"

/* A power of two. */
#define AI_DECISIONS_KEPT 64

/* Whose it is decides who sees it. */
struct ai_decision_slot {
	struct ai_dump_decision decision;
	u64 file;
	kuid_t uid;
};

struct ai_decision_ring {
	u64 count;
	struct ai_decision_slot slot[AI_DECISIONS_KEPT];
};

struct ai_decisions {
	spinlock_t lock; /* all below; innermost */
	u64 sequence;
	struct ai_decision_ring of_contracts; /* and of the device */
	struct ai_decision_ring of_jobs;
};

struct ai_decisions *ai_decisions_alloc(void)
{
	struct ai_decisions *decisions = kvzalloc(sizeof(*decisions), GFP_KERNEL);

	if (decisions)
		spin_lock_init(&decisions->lock);
	return decisions;
}

void ai_decisions_free(struct ai_decisions *decisions)
{
	kvfree(decisions);
}

static void ai_decision_add(struct ai_device *adev, const struct ai_decision_slot *from,
			    bool of_job)
{
	struct ai_decisions *decisions = adev->decisions;
	struct ai_decision_ring *ring = of_job ? &decisions->of_jobs : &decisions->of_contracts;
	struct ai_decision_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&decisions->lock, flags);
	slot = &ring->slot[ring->count++ % AI_DECISIONS_KEPT];
	*slot = *from;
	slot->decision.sequence = ++decisions->sequence;
	slot->decision.time_ns = ktime_get_ns();
	spin_unlock_irqrestore(&decisions->lock, flags);
}

/**
 * ai_decision_device() - record what became of a device
 * @adev: the device
 * @kind: of &enum ai_decision_kind
 * @found: what it is now
 * @limit: what it was
 *
 * Any context.
 */
void ai_decision_device(struct ai_device *adev, enum ai_decision_kind kind, u64 found, u64 limit)
{
	struct ai_decision_slot slot = {
		.decision = { .kind = kind, .found = found, .limit = limit },
		.uid = INVALID_UID,
	};

	ai_decision_add(adev, &slot, false);
}

/**
 * ai_decision_contract() - record what was decided about a contract
 * @contract: the contract
 * @decision: kind, and what goes with it; number, time and contract are filled in
 *
 * Any context. One that names no device is in no device's record.
 */
void ai_decision_contract(const struct ai_contract *contract,
			  const struct ai_dump_decision *decision)
{
	struct ai_decision_slot slot = { .decision = *decision, .uid = contract->uid };

	slot.decision.contract = contract->id;
	if (contract->adev)
		ai_decision_add(contract->adev, &slot, false);
}

static u32 ai_decision_of_event(u32 event)
{
	switch (event) {
	case AI_EVENT_LAPSED:
		return AI_DECISION_LAPSED;
	case AI_EVENT_RENEWED:
		return AI_DECISION_RENEWED;
	case AI_EVENT_FUSE_OPENED:
		return AI_DECISION_FUSE_OPENED;
	case AI_EVENT_FUSE_HALF_OPENED:
		return AI_DECISION_FUSE_HALF_OPENED;
	case AI_EVENT_FUSE_CLOSED:
		return AI_DECISION_FUSE_CLOSED;
	case AI_EVENT_FALLBACK:
		return AI_DECISION_FALLBACK;
	case AI_EVENT_RETURNED:
		return AI_DECISION_RETURNED;
	default:
		return 0;
	}
}

/* An event of a contract, if it is a decision. Any context. */
void ai_decision_event(const struct ai_contract *contract, const struct ai_event *event)
{
	struct ai_dump_decision decision = {
		.kind = ai_decision_of_event(event->kind),
		.term = event->term,
		.job = event->job,
		.found = event->found,
		.limit = event->limit,
		.other = event->other,
	};

	if (decision.kind)
		ai_decision_contract(contract, &decision);
}

static enum ai_decision_kind ai_decision_of_error(int error)
{
	switch (error) {
	case 0:
		return AI_DECISION_JOB_RERUN;
	case -ETIME:
		return AI_DECISION_JOB_TIMEOUT;
	case -ECANCELED:
	case -EINTR:
		return AI_DECISION_JOB_ABORTED;
	default:
		return AI_DECISION_JOB_FAILED;
	}
}

/**
 * ai_decision_job() - record that a job ended without a result, or runs again
 * @job: the job
 * @error: with which it ended, 0 if it runs again
 *
 * Any context.
 */
void ai_decision_job(const struct ai_job *job, int error)
{
	struct ai_decision_slot slot = {
		.decision = {
			.kind = ai_decision_of_error(error),
			.job = job->id,
			.contract = job->contract ? job->contract->id : 0,
			.found = -error,
		},
		.file = job->file_id,
		.uid = job->contract ? job->contract->uid : INVALID_UID,
	};

	ai_decision_add(job->adev, &slot, true);
}

/* What the device itself did is nobody's secret. */
static bool ai_decision_visible(const struct ai_dumper *dumper,
				const struct ai_decision_slot *slot)
{
	if (!uid_valid(slot->uid) && !slot->file)
		return true;
	return ai_dumper_sees(dumper, slot->uid, slot->file);
}

static u32 ai_decisions_copy(const struct ai_decision_ring *ring, struct ai_decision_slot *to)
{
	u64 oldest = ring->count - min_t(u64, ring->count, AI_DECISIONS_KEPT);
	u64 at;

	for (at = oldest; at < ring->count; at++)
		*to++ = ring->slot[at % AI_DECISIONS_KEPT];
	return at - oldest;
}

void ai_dump_decisions(struct ai_dumper *dumper)
{
	struct ai_decisions *decisions = dumper->adev->decisions;
	struct ai_decision_slot *slots;
	u32 i, count;

	slots = kvmalloc_array(2 * AI_DECISIONS_KEPT, sizeof(*slots), dumper->gfp);
	if (!slots) {
		dumper->error = -ENOMEM;
		return;
	}
	spin_lock_irq(&decisions->lock);
	count = ai_decisions_copy(&decisions->of_contracts, slots);
	count += ai_decisions_copy(&decisions->of_jobs, slots + count);
	spin_unlock_irq(&decisions->lock);

	ai_dump_begin(dumper, AI_DUMP_DECISIONS, sizeof(slots->decision));
	for (i = 0; i < count; i++)
		if (ai_decision_visible(dumper, &slots[i]))
			ai_dump_add(dumper, &slots[i].decision);
	ai_dump_end(dumper);
	kvfree(slots);
}
