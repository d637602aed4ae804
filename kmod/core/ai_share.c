// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares: a contract with a share has a turn each time its share has paid for one
 * more request, as a constant bandwidth server does. A request that waits for its
 * turn waits like those without a contract, and may be served as one of them.
 */
#include "ai_contract.h"

static bool ai_share_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct ai_contract, share_node)->share_at <
	       rb_entry(b, struct ai_contract, share_node)->share_at;
}

/* The next turn: not before the last one is paid for, nor before somebody wants it. */
static void ai_share_insert(struct ai_contract *contract, s64 wanted_at)
{
	struct ai_device *adev = contract->adev;

	lockdep_assert_held(&adev->lock);
	spin_lock(&contract->sla.lock);
	contract->share_at = max(contract->sla.tat, wanted_at);
	spin_unlock(&contract->sla.lock);
	rb_add_cached(&contract->share_node, &adev->shares, ai_share_less);
}

/* The job is queued. */
void ai_share_wait(struct ai_job *job)
{
	struct ai_contract *contract = job->contract;
	bool first = list_empty(&contract->pending);

	lockdep_assert_held(&job->adev->lock);
	list_add_tail(&job->share_node, &contract->pending);
	if (first)
		ai_share_insert(contract, ktime_to_ns(job->submitted));
}

/* It waits no longer. */
void ai_share_leave(struct ai_job *job)
{
	struct ai_contract *contract = job->contract;

	lockdep_assert_held(&job->adev->lock);
	if (list_empty(&job->share_node))
		return;
	list_del_init(&job->share_node);
	if (list_empty(&contract->pending))
		rb_erase_cached(&contract->share_node, &contract->adev->shares);
}

/* Whose turn has come takes it. */
void ai_share_promote(struct ai_device *adev, ktime_t now)
{
	struct ai_contract *contract;
	struct rb_node *node;
	struct ai_job *job;
	s64 at, tat;

	lockdep_assert_held(&adev->lock);
	while ((node = rb_first_cached(&adev->shares))) {
		contract = rb_entry(node, struct ai_contract, share_node);
		at = contract->share_at;
		if (at > now)
			return;
		rb_erase_cached(node, &adev->shares);
		spin_lock(&contract->sla.lock);
		tat = contract->sla.tat;
		if (tat <= at && contract->claimed)
			contract->sla.tat = at + contract->claim.period_ns;
		spin_unlock(&contract->sla.lock);
		/* What it owes has become more meanwhile; or the reservation has lapsed. */
		if (tat > at) {
			ai_share_insert(contract, at);
			continue;
		}
		job = list_first_entry(&contract->pending, struct ai_job, share_node);
		list_del_init(&job->share_node);
		if (READ_ONCE(contract->claimed)) {
			ai_job_count(job);
			ai_queue_claim(adev, job, at + contract->claim.deadline_ns);
		}
		if (!list_empty(&contract->pending))
			ai_share_insert(contract, at);
	}
}
