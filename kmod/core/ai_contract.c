// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contracts: what was asked, whether it is granted, and how long it holds. What
 * becomes of the requests is in ai_sla.c, the arithmetic in ai_admission.c, the
 * memory in ai_reserve.c.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_contract.h"

#define AI_DEFAULT_FUSE_NS (300 * NSEC_PER_SEC)
/* 104 days: far enough for anybody, and near enough for jiffies. */
#define AI_MAX_WAIT_NS BIT_ULL(53)
#define AI_MIN_LAPSE_NS (10 * NSEC_PER_MSEC)
/* Who waits looks again after so long: not all that is freed is announced. */
#define AI_BUDGET_POLL_NS NSEC_PER_SEC

static DEFINE_XARRAY_ALLOC1(ai_contracts);
static u32 ai_contracts_next;

/* Somebody gave back what others may be waiting for. */
static atomic_t ai_budget_changes = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(ai_budget_wait);

void ai_contract_budget_freed(void)
{
	atomic_inc(&ai_budget_changes);
	if (wq_has_sleeper(&ai_budget_wait))
		wake_up_all(&ai_budget_wait);
}

/* ---- life ---- */

static void ai_contract_free(struct ai_contract *contract)
{
	ai_sla_exit(contract);
	kfree(contract->ghost);
	mutex_destroy(&contract->lock);
	if (contract->adev)
		ai_device_put(contract->adev);
	kfree(contract);
}

static void ai_contract_release_work(struct work_struct *work)
{
	ai_contract_free(container_of(work, struct ai_contract, release_work));
}

static void ai_contract_release(struct kref *ref)
{
	struct ai_contract *contract = container_of(ref, struct ai_contract, ref);

	INIT_WORK(&contract->release_work, ai_contract_release_work);
	queue_work(ai_wq, &contract->release_work);
}

/* Any context. */
void ai_contract_put(struct ai_contract *contract)
{
	kref_put(&contract->ref, ai_contract_release);
}

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

/* ---- claims ---- */

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
static void ai_contract_unclaim(struct ai_contract *contract)
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

/* Let go of all that is reserved. */
static void ai_contract_let_go(struct ai_contract *contract)
{
	u32 i;

	lockdep_assert_held(&contract->lock);
	for (i = 0; i < contract->nr_memory; i++) {
		if (contract->reserve[i])
			ai_reserve_release(contract->reserve[i]);
		contract->reserve[i] = NULL;
	}
	if (contract->claimed)
		ai_contract_unclaim(contract);
}

/* When it was used last, as of @now; @now, if it is in use. */
static s64 ai_contract_used_at(struct ai_contract *contract, s64 now)
{
	s64 at = atomic_read(&contract->running) ? now : READ_ONCE(contract->used_at);
	u32 i;

	lockdep_assert_held(&contract->lock);
	for (i = 0; i < contract->nr_memory; i++)
		if (contract->reserve[i])
			at = max(at, ai_reserve_used_at(contract->reserve[i]));
	return min(at, now);
}

static void ai_contract_lapse_work(struct work_struct *work)
{
	struct ai_contract *contract = container_of(to_delayed_work(work), struct ai_contract,
						    lapse_work);
	s64 limit = contract->terms.lapse_ns, now = ktime_get_ns(), idle;

	mutex_lock(&contract->lock);
	if (contract->state != AI_CONTRACT_ACTIVE)
		goto unlock;
	idle = now - ai_contract_used_at(contract, now);
	if (idle >= limit) {
		contract->state = AI_CONTRACT_LAPSED;
		ai_contract_let_go(contract);
		ai_contract_budget_freed();
		ai_sla_event(contract, AI_EVENT_LAPSED, 0, idle, limit);
	} else {
		queue_delayed_work(ai_wq, &contract->lapse_work,
				   nsecs_to_jiffies(limit - idle) + 1);
	}
unlock:
	mutex_unlock(&contract->lock);
}

static void ai_contract_watch(struct ai_contract *contract)
{
	WRITE_ONCE(contract->used_at, ktime_get_ns());
	if (contract->terms.lapse_ns)
		queue_delayed_work(ai_wq, &contract->lapse_work,
				   nsecs_to_jiffies(contract->terms.lapse_ns) + 1);
}

/* ---- admission ---- */

/* Why not: see struct ai_contract_create. */
struct ai_refusal {
	u32 term;
	u32 device;
	u64 needed;
	u64 available;
};

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

static bool ai_device_present(const struct ai_device *adev)
{
	return !READ_ONCE(adev->unplugged) && READ_ONCE(adev->health) != AI_HEALTH_FAILED;
}

static int ai_contract_claim(struct ai_contract *contract, struct ai_refusal *why,
			     struct ai_claim *offer)
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
	}
	return -EDQUOT;
}

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

static int ai_terms_check(struct ai_call *call, const struct ai_terms *terms)
{
	bool needs_device = terms->latency_ns || terms->period_ns || terms->service_ns ||
			    terms->energy_uj || terms->fuse_ns || terms->model ||
			    terms->burst || terms->power_mw;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(terms->reserved); i++)
		if (terms->reserved[i])
			return ai_fail(call, -EINVAL,
				       "reserved[%u] of the terms is 0x%llx, it must be 0", i,
				       terms->reserved[i]);
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
	return 0;
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
	return 0;
}

/* The service time that counts: what is stated or what was measured, if longer. */
static int ai_contract_service(struct ai_call *call, struct ai_contract *contract)
{
	struct ai_terms *terms = &contract->terms;
	struct ai_model *model;
	u64 measured;
	int ret = 0;

	if (!terms->model)
		return 0;
	model = ai_model_lookup(call, terms->model);
	if (IS_ERR(model))
		return PTR_ERR(model);
	measured = READ_ONCE(model->longest_ns);
	if (model->adev != contract->adev)
		ret = ai_fail(call, -EINVAL, "model is %u (%s), which is on %s and not on %s",
			      terms->model, model->name, dev_name(&model->adev->dev),
			      dev_name(&contract->adev->dev));
	else if (!measured && !terms->service_ns)
		ret = ai_fail(call, -EINVAL,
			      "service_ns is 0 and model %u (%s) has not run yet, so that its time is not known",
			      terms->model, model->name);
	ai_model_put(model);
	terms->service_ns = max(terms->service_ns, measured);
	return ret;
}

static int ai_contract_make_claim(struct ai_call *call, struct ai_contract *contract)
{
	struct ai_terms *terms = &contract->terms;
	const u64 low = 1ULL << AI_LOGLIN_LOW, high = (1ULL << AI_LOGLIN_HIGH) - 1;
	struct ai_claim *claim = &contract->claim;
	int ret = ai_contract_service(call, contract);

	if (ret || !terms->latency_ns)
		return ret;
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
	if (!terms->service_ns)
		return ai_fail(call, -EINVAL,
			       "service_ns is 0 and there is no model, so that the time of a request is not known");
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

static const struct file_operations ai_contract_fops;

static int ai_contract_register(struct ai_contract *contract)
{
	struct ai_device *adev = contract->adev;
	bool present = true;
	unsigned long flags;
	u32 id;
	int ret;

	/* Found only when it is complete; the place is kept, so that storing cannot fail. */
	ret = xa_alloc_cyclic(&ai_contracts, &id, NULL, xa_limit_31b, &ai_contracts_next,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		return ret;
	contract->id = id;
	if (adev) {
		spin_lock_irqsave(&adev->lock, flags);
		present = ai_device_present(adev);
		if (present)
			list_add(&contract->device_node, &adev->contracts);
		spin_unlock_irqrestore(&adev->lock, flags);
	}
	if (!present) {
		xa_release(&ai_contracts, id);
		return -ENODEV;
	}
	xa_store(&ai_contracts, id, contract, GFP_KERNEL_ACCOUNT);
	return 0;
}

/* The descriptor goes, or was never delivered. */
static void ai_contract_close(struct ai_contract *contract)
{
	struct ai_device *adev = contract->adev;
	unsigned long flags;

	xa_erase(&ai_contracts, contract->id);
	if (adev) {
		spin_lock_irqsave(&adev->lock, flags);
		list_del(&contract->device_node);
		spin_unlock_irqrestore(&adev->lock, flags);
	}
	mutex_lock(&contract->lock);
	contract->state = AI_CONTRACT_CLOSED;
	ai_contract_let_go(contract);
	mutex_unlock(&contract->lock);
	ai_contract_budget_freed();
	cancel_delayed_work_sync(&contract->lapse_work);
	ai_contract_put(contract);
}

static int ai_contract_release_file(struct inode *inode, struct file *filp)
{
	ai_contract_close(filp->private_data);
	return 0;
}

/* A descriptor that holds the contract; given to the caller when the call has succeeded. */
static int ai_contract_open(struct ai_call *call, struct ai_contract *contract)
{
	struct file *filp;
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return ai_fail(call, fd, "the caller has no file descriptor left");
	filp = anon_inode_getfile("[ai-contract]", &ai_contract_fops, contract, O_RDONLY);
	if (IS_ERR(filp)) {
		put_unused_fd(fd);
		return ai_fail(call, PTR_ERR(filp), "the system has no memory for a descriptor");
	}
	call->new_file = filp;
	call->new_fd = fd;
	return 0;
}

static struct ai_contract *ai_contract_new(const struct ai_contract_create *arg)
{
	struct ai_contract *contract = kzalloc(sizeof(*contract), GFP_KERNEL_ACCOUNT);

	if (!contract)
		return NULL;
	kref_init(&contract->ref);
	strscpy(contract->name, arg->name);
	contract->uid = current_euid();
	contract->terms = arg->terms;
	INIT_LIST_HEAD(&contract->device_node);
	mutex_init(&contract->lock);
	atomic_set(&contract->running, 0);
	INIT_DELAYED_WORK(&contract->lapse_work, ai_contract_lapse_work);
	init_waitqueue_head(&contract->wait);
	ai_sla_init(contract);
	return contract;
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
	arg->answer = AI_ANSWER_REFUSED;
	arg->term = why->term;
	arg->device = why->device;
	arg->needed = why->needed;
	arg->available = why->available;
	if ((why->term != AI_TERM_RATE && why->term != AI_TERM_LATENCY) || !offer->deadline_ns)
		return;
	arg->offered = 1;
	arg->offer = contract->terms;
	arg->offer.latency_ns = offer->deadline_ns;
	arg->offer.period_ns = offer->period_ns;
	arg->offer.burst = offer->burst;
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
	if (ret == -EDQUOT)
		ai_create_answer(arg, contract, &why, &offer);
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

/* ---- use ---- */

/* With a reference. */
struct ai_contract *ai_contract_get_fd(struct ai_call *call, int fd)
{
	struct ai_contract *contract = ERR_PTR(-EINVAL);
	struct file *filp = fget(fd);

	if (!filp)
		return ERR_PTR(ai_fail(call, -EBADF, "contract is %d, no such descriptor is open",
				       fd));
	if (filp->f_op == &ai_contract_fops) {
		contract = filp->private_data;
		kref_get(&contract->ref);
	} else {
		ai_fail(call, -EINVAL, "contract is %d, which is the descriptor of something else",
			fd);
	}
	fput(filp);
	return contract;
}

static int ai_contract_state_fail(struct ai_call *call, const struct ai_contract *contract)
{
	if (contract->state == AI_CONTRACT_ACTIVE)
		return 0;
	if (contract->state == AI_CONTRACT_LAPSED)
		return ai_fail(call, -ESTALE,
			       "contract %llu (%s) lapsed, because it was not used for %llu ns",
			       contract->id, contract->name, contract->terms.lapse_ns);
	return ai_fail(call, -EBADF, "contract %llu (%s) was closed meanwhile", contract->id,
		       contract->name);
}

/* A request begins: from now on the contract does not lapse. */
int ai_contract_enter(struct ai_call *call, struct ai_contract *contract)
{
	int ret;

	mutex_lock(&contract->lock);
	ret = ai_contract_state_fail(call, contract);
	if (!ret)
		atomic_inc(&contract->running);
	mutex_unlock(&contract->lock);
	return ret;
}

/* It has ended. Any context. */
void ai_contract_leave(struct ai_contract *contract)
{
	WRITE_ONCE(contract->used_at, ktime_get_ns());
	atomic_dec(&contract->running);
}

struct ai_region *ai_contract_alloc(struct ai_call *call, struct ai_contract *contract,
				    struct ai_device *home, u64 bytes, u32 perm, u32 cache)
{
	struct ai_reserve *reserve = NULL;
	struct ai_region *region;
	u32 i;
	int ret;

	/* In turn with lapsing: the reservation is used, or it is gone. */
	mutex_lock(&contract->lock);
	ret = ai_contract_state_fail(call, contract);
	if (ret) {
		mutex_unlock(&contract->lock);
		return ERR_PTR(ret);
	}
	WRITE_ONCE(contract->used_at, ktime_get_ns());
	for (i = 0; i < contract->nr_memory; i++)
		if (contract->reserve[i]->home == home)
			reserve = contract->reserve[i];
	if (reserve)
		kref_get(&reserve->ref);
	mutex_unlock(&contract->lock);
	if (!reserve)
		return ERR_PTR(ai_fail(call, -EDQUOT, "contract %llu (%s) reserves no memory of %s",
				       contract->id, contract->name,
				       home ? dev_name(&home->dev) : "the system"));
	region = ai_region_create_reserved(call, reserve, bytes, perm, cache);
	ai_reserve_put(reserve);
	return region;
}

/* The device went or failed for good. Any context. */
void ai_contract_device_lost(struct ai_device *adev)
{
	struct ai_contract *contract;
	unsigned long flags;

	spin_lock_irqsave(&adev->lock, flags);
	list_for_each_entry(contract, &adev->contracts, device_node)
		ai_sla_event(contract, AI_EVENT_DEVICE_LOST, 0, 0, 0);
	spin_unlock_irqrestore(&adev->lock, flags);
}

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
			ai_sla_event(contract, AI_EVENT_RENEWED, 0, 0, 0);
			ai_contract_watch(contract);
		}
	}
	WRITE_ONCE(contract->used_at, ktime_get_ns());
	mutex_unlock(&contract->lock);

	arg->answer = AI_ANSWER_GRANTED;
	if (!ret)
		return 0;
	arg->answer = ret == -EDQUOT ? AI_ANSWER_REFUSED : AI_ANSWER_NONE;
	arg->term = why.term;
	arg->device = why.device;
	arg->needed = why.needed;
	arg->available = why.available;
	return ai_refusal_fail(call, &why, ret);
}

/* ---- queries ---- */

static int ai_contract_write_memory(struct ai_call *call, struct ai_contract *contract,
				    const struct ai_contract_info *arg)
{
	struct ai_memory_term __user *to = u64_to_user_ptr(arg->memory);
	struct ai_memory_term terms[AI_MAX_CONTRACT_MEMORY];
	u32 i, count = min(arg->capacity, contract->nr_memory);

	memcpy(terms, contract->memory, sizeof(terms));
	mutex_lock(&contract->lock);
	for (i = 0; i < count; i++) {
		struct ai_reserve *reserve = contract->reserve[i];

		if (!reserve)
			continue;
		terms[i].used = ai_reserve_used(reserve);
		terms[i].la = reserve->window.la;
		terms[i].pages = reserve->window.pages;
	}
	mutex_unlock(&contract->lock);
	if (copy_to_user(to, terms, count * sizeof(*to)))
		return ai_fail(call, -EFAULT, "memory is 0x%llx, it cannot be written",
			       arg->memory);
	return 0;
}

static int ai_contract_describe(struct ai_call *call, struct ai_contract *contract,
				struct ai_contract_info *arg)
{
	arg->id = contract->id;
	arg->nr_memory = contract->nr_memory;
	arg->terms = contract->terms;
	strscpy_pad(arg->name, contract->name);
	mutex_lock(&contract->lock);
	arg->state = contract->state;
	mutex_unlock(&contract->lock);
	ai_sla_fill(contract, arg);
	return ai_contract_write_memory(call, contract, arg);
}

/* The contract with that number, or the next one, that the caller may see. */
static struct ai_contract *ai_contract_find(u64 id, bool next)
{
	struct ai_contract *contract;
	unsigned long index = id;
	bool asked = false, all = false;

	if (id > U32_MAX)
		return NULL;
	for (;; index++) {
		xa_lock(&ai_contracts);
		contract = xa_find(&ai_contracts, &index, next ? ULONG_MAX : id, XA_PRESENT);
		if (contract && !kref_get_unless_zero(&contract->ref)) {
			xa_unlock(&ai_contracts);
			if (!next)
				return NULL;
			continue;
		}
		xa_unlock(&ai_contracts);
		if (!contract || uid_eq(contract->uid, current_euid()))
			return contract;
		/* Asked once, and only if it matters: a refusal is audited. */
		if (!asked)
			all = capable(CAP_SYS_ADMIN);
		asked = true;
		if (all)
			return contract;
		ai_contract_put(contract);
		if (!next || fatal_signal_pending(current))
			return NULL;
		cond_resched();
	}
}

int ai_ioctl_contract_query(struct ai_call *call, struct ai_contract_info *arg)
{
	bool next = arg->hdr.flags & AI_CONTRACT_NEXT;
	struct ai_contract *contract;
	int ret;

	if (!call->file) {
		if (arg->id || next)
			return ai_fail(call, -EINVAL,
				       "id is %llu and flags are 0x%x, on the contract's own descriptor both must be 0",
				       arg->id, arg->hdr.flags);
		return ai_contract_describe(call, call->filp->private_data, arg);
	}
	contract = ai_contract_find(arg->id, next);
	if (!contract)
		return ai_fail(call, -ENOENT, "id is %llu, the caller may see no such contract%s",
			       arg->id, next ? " or a later one" : "");
	ret = ai_contract_describe(call, contract, arg);
	ai_contract_put(contract);
	return ret;
}

int ai_ioctl_fuse_reset(struct ai_call *call, struct ai_fuse_reset *arg)
{
	struct ai_contract *contract;
	unsigned long index;
	bool found = false;
	int ret;

	if (arg->reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", arg->reserved);
	ret = ai_check_name(call, arg->name, sizeof(arg->name));
	if (ret)
		return ret;
	if (!capable(CAP_SYS_ADMIN))
		return ai_fail(call, -EPERM, "closing a fuse needs CAP_SYS_ADMIN");

	arg->closed = 0;
	xa_lock(&ai_contracts);
	xa_for_each(&ai_contracts, index, contract) {
		if (strcmp(contract->name, arg->name))
			continue;
		found = true;
		arg->closed += ai_sla_fuse_reset(contract);
	}
	xa_unlock(&ai_contracts);
	if (!found)
		return ai_fail(call, -ENOENT, "name is %s, no contract has it", arg->name);
	return 0;
}

/* See Documentation/contracts.md. */
static void ai_contract_show_fdinfo(struct seq_file *seq, struct file *filp)
{
	struct ai_contract *contract = filp->private_data;
	struct ai_contract_info info = {};
	u32 i;

	ai_sla_fill(contract, &info);
	seq_printf(seq, "ai-contract:\t%llu\n", contract->id);
	seq_printf(seq, "ai-name:\t%s\n", contract->name);
	seq_printf(seq, "ai-jobs:\t%llu\n", info.jobs);
	seq_printf(seq, "ai-failed:\t%llu\n", info.failed);
	seq_printf(seq, "ai-violated:\t%llu\n", info.violated);
	seq_printf(seq, "ai-latency-p99:\t%llu ns\n", info.latency_p99_ns);
	seq_printf(seq, "ai-energy:\t%llu uJ\n", info.energy_uj);
	if (contract->adev)
		seq_printf(seq, "ai-engine-%s:\t%llu ns\n", dev_name(&contract->adev->dev),
			   info.run_ns);
	mutex_lock(&contract->lock);
	for (i = 0; i < contract->nr_memory; i++)
		if (contract->reserve[i])
			seq_printf(seq, "ai-memory-%s:\t%llu KiB of %llu KiB\n",
				   contract->reserve[i]->home ?
				   dev_name(&contract->reserve[i]->home->dev) : "system",
				   ai_reserve_used(contract->reserve[i]) >> 10,
				   contract->reserve[i]->bytes >> 10);
	mutex_unlock(&contract->lock);
}

static const struct file_operations ai_contract_fops = {
	.owner = THIS_MODULE,
	.release = ai_contract_release_file,
	.read = ai_sla_read,
	.poll = ai_sla_poll,
	.unlocked_ioctl = ai_call_contract,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = ai_contract_show_fdinfo,
};

void ai_contracts_exit(void)
{
	WARN_ON(!xa_empty(&ai_contracts));
	xa_destroy(&ai_contracts);
}
