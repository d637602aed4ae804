// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: what contracts have of a device's time. Granted by the test in
 * ai_admission.c, given up when the contract is closed or lapses.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "ai_contract.h"

/* Claims are counted where the scheduler looks, which may have more to give now. */
static void ai_contract_count_claim(struct ai_device *adev, int change)
{
	unsigned long flags;

	spin_lock_irqsave(&adev->lock, flags);
	adev->nr_claims += change;
	spin_unlock_irqrestore(&adev->lock, flags);
	if (change < 0)
		ai_sched_kick(adev);
}

/*
 * Under ai_device.claims_lock: claims whose time is over are free, and so are all since
 * when the device had nothing to do for contracts, because what comes later cannot meet
 * what was sent before.
 */
static void ai_device_bury_ghosts(struct ai_device *adev)
{
	struct ai_ghost *ghost, *next;
	s64 now = ktime_get_ns();
	unsigned long flags;
	u64 idle;

	lockdep_assert_held(&adev->claims_lock);
	spin_lock_irqsave(&adev->lock, flags);
	idle = adev->claimed_idle;
	spin_unlock_irqrestore(&adev->lock, flags);
	list_for_each_entry_safe(ghost, next, &adev->ghosts, node) {
		if (ghost->until > now && ghost->idle == idle)
			continue;
		ai_admission_remove(adev->admission, &ghost->claim);
		list_del(&ghost->node);
		kfree(ghost);
	}
}

void ai_device_free_ghosts(struct ai_device *adev)
{
	struct ai_ghost *ghost, *next;

	list_for_each_entry_safe(ghost, next, &adev->ghosts, node)
		kfree(ghost);
}

/*
 * The claim is given up. What was sent on it counts until as much could have been sent
 * at its rate, if it may be waited for still; no deadline that it could endanger is
 * further away than the latest.
 */
void ai_contract_unclaim(struct ai_contract *contract)
{
	struct ai_device *adev = contract->adev;
	struct ai_ghost *ghost = contract->ghost;
	s64 now = ktime_get_ns(), tat;
	unsigned long flags;
	bool busy;

	spin_lock_irqsave(&adev->lock, flags);
	spin_lock(&contract->sla.lock);
	WRITE_ONCE(contract->claimed, false);
	tat = contract->sla.tat;
	spin_unlock(&contract->sla.lock);
	busy = adev->nr_claimed_jobs;
	ghost->idle = adev->claimed_idle;
	spin_unlock_irqrestore(&adev->lock, flags);

	mutex_lock(&adev->claims_lock);
	if (tat > now && busy) {
		ghost->claim = contract->claim;
		ghost->until = min(tat, now + (s64)BIT_ULL(AI_LOGLIN_HIGH));
		list_add(&ghost->node, &adev->ghosts);
		contract->ghost = NULL;
	} else {
		ai_admission_remove(adev->admission, &contract->claim);
	}
	mutex_unlock(&adev->claims_lock);
	ai_contract_count_claim(adev, -1);
}

static u64 ai_rate_millionths(u64 rate)
{
	return mul_u64_u64_shr(rate, 1000000, 32);
}

static struct ai_admission_load ai_contract_load(struct ai_device *adev)
{
	struct ai_admission_load load = {
		.inflight = min(adev->queue_depth, AI_ADMISSION_INFLIGHT),
	};
	struct ai_model *model;

	mutex_lock(&adev->objects_lock);
	list_for_each_entry(model, &adev->models, node)
		load.other_ns = max(load.other_ns, READ_ONCE(model->longest_ns));
	mutex_unlock(&adev->objects_lock);
	return load;
}

bool ai_device_present(const struct ai_device *adev)
{
	return !READ_ONCE(adev->unplugged) && READ_ONCE(adev->health) != AI_HEALTH_FAILED;
}

int ai_contract_claim(struct ai_contract *contract, struct ai_refusal *why, struct ai_claim *offer)
{
	struct ai_device *adev = contract->adev;
	struct ai_admission_load load = ai_contract_load(adev);
	struct ai_shortfall shortfall;

	why->device = adev->id;
	if (!ai_device_present(adev))
		return -ENODEV;
	if (!contract->ghost)
		contract->ghost = kzalloc(sizeof(*contract->ghost), GFP_KERNEL_ACCOUNT);
	if (!contract->ghost)
		return -ENOMEM;

	mutex_lock(&adev->claims_lock);
	ai_device_bury_ghosts(adev);
	shortfall = ai_admission_test(adev->admission, &contract->claim, &load);
	if (shortfall.result == AI_ADMISSION_FITS)
		ai_admission_add(adev->admission, &contract->claim);
	else if (offer && !ai_admission_offer(adev->admission, offer, &load))
		memset(offer, 0, sizeof(*offer));
	mutex_unlock(&adev->claims_lock);

	if (shortfall.result == AI_ADMISSION_FITS) {
		ai_contract_count_claim(adev, 1);
		WRITE_ONCE(contract->claimed, true);
		return 0;
	}
	why->term = shortfall.result == AI_ADMISSION_RATE ? AI_TERM_RATE : AI_TERM_LATENCY;
	why->needed = shortfall.needed;
	why->available = shortfall.available;
	if (why->term == AI_TERM_RATE) {
		why->needed = ai_rate_millionths(why->needed) + 1;
		why->available = ai_rate_millionths(why->available);
		if (contract->terms.share)
			why->term = AI_TERM_SHARE;
	}
	return -EDQUOT;
}

/* ---- bandwidth ---- */

int ai_contract_hold_bandwidth(struct ai_contract *contract, struct ai_refusal *why)
{
	struct ai_device *adev = contract->adev;
	u64 asked = contract->terms.bandwidth, left;

	lockdep_assert_held(&contract->lock);
	mutex_lock(&adev->claims_lock);
	left = adev->bandwidth - adev->bandwidth_promised;
	if (asked <= left) {
		WRITE_ONCE(adev->bandwidth_promised, adev->bandwidth_promised + asked);
		contract->bandwidth = asked;
	}
	mutex_unlock(&adev->claims_lock);
	if (asked <= left)
		return 0;
	why->device = adev->id;
	why->term = AI_TERM_BANDWIDTH;
	why->needed = asked;
	why->available = left;
	return -EDQUOT;
}

void ai_contract_free_bandwidth(struct ai_contract *contract)
{
	struct ai_device *adev = contract->adev;

	lockdep_assert_held(&contract->lock);
	if (!contract->bandwidth)
		return;
	mutex_lock(&adev->claims_lock);
	WRITE_ONCE(adev->bandwidth_promised, adev->bandwidth_promised - contract->bandwidth);
	mutex_unlock(&adev->claims_lock);
	contract->bandwidth = 0;
}
