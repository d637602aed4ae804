// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contracts: their life, their descriptor, their use and who sees them. How they are
 * asked for is in ai_contract_create.c, what they have of a device's time in
 * ai_claim.c and the arithmetic of that in ai_admission.c, memory in ai_reserve.c,
 * what becomes of the requests in ai_sla.c.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_contract.h"

static DEFINE_XARRAY_ALLOC1(ai_contracts);
static u32 ai_contracts_next;

/* ---- life ---- */

static void ai_contract_free(struct ai_contract *contract)
{
	ai_sla_exit(contract);
	kfree(contract->ghost);
	mutex_destroy(&contract->lock);
	ai_model_put(contract->model);
	ai_model_put(contract->fallback);
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

/* Let go of all that is reserved. */
void ai_contract_let_go(struct ai_contract *contract)
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
	ai_contract_free_bandwidth(contract);
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
		ai_sla_event(contract, &(struct ai_event){
			.kind = AI_EVENT_LAPSED,
			.found = idle,
			.limit = limit,
		});
	} else {
		queue_delayed_work(ai_wq, &contract->lapse_work,
				   nsecs_to_jiffies(limit - idle) + 1);
	}
unlock:
	mutex_unlock(&contract->lock);
}

void ai_contract_watch(struct ai_contract *contract)
{
	WRITE_ONCE(contract->used_at, ktime_get_ns());
	if (contract->terms.lapse_ns)
		queue_delayed_work(ai_wq, &contract->lapse_work,
				   nsecs_to_jiffies(contract->terms.lapse_ns) + 1);
}

static const struct file_operations ai_contract_fops;

int ai_contract_register(struct ai_contract *contract)
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
		contract->told = adev->watch.round;
		if (present)
			list_add_tail(&contract->device_node, &adev->contracts);
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
void ai_contract_close(struct ai_contract *contract)
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
int ai_contract_open(struct ai_call *call, struct ai_contract *contract)
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

struct ai_contract *ai_contract_new(const struct ai_contract_create *arg)
{
	struct ai_contract *contract = kzalloc(sizeof(*contract), GFP_KERNEL_ACCOUNT);

	if (!contract)
		return NULL;
	kref_init(&contract->ref);
	strscpy(contract->name, arg->name);
	contract->uid = current_euid();
	contract->terms = arg->terms;
	INIT_LIST_HEAD(&contract->device_node);
	INIT_LIST_HEAD(&contract->pending);
	mutex_init(&contract->lock);
	atomic_set(&contract->running, 0);
	INIT_DELAYED_WORK(&contract->lapse_work, ai_contract_lapse_work);
	init_waitqueue_head(&contract->wait);
	ai_sla_init(contract);
	return contract;
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

/* ---- queries ---- */

/* What became of reservation @i. */
void ai_contract_fill_memory(struct ai_contract *contract, u32 i, struct ai_memory_term *term)
{
	struct ai_reserve *reserve = contract->reserve[i];

	lockdep_assert_held(&contract->lock);
	if (!reserve)
		return;
	term->used = ai_reserve_used(reserve);
	term->la = reserve->window.la;
	term->pages = reserve->window.pages;
}

static int ai_contract_write_memory(struct ai_call *call, struct ai_contract *contract,
				    const struct ai_contract_info *arg)
{
	struct ai_memory_term __user *to = u64_to_user_ptr(arg->memory);
	struct ai_memory_term terms[AI_MAX_CONTRACT_MEMORY];
	u32 i, count = min(arg->capacity, contract->nr_memory);

	memcpy(terms, contract->memory, sizeof(terms));
	mutex_lock(&contract->lock);
	for (i = 0; i < count; i++)
		ai_contract_fill_memory(contract, i, &terms[i]);
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

int ai_ioctl_contract_events(struct ai_call *call, struct ai_contract_events *arg)
{
	u32 capacity = min_t(u32, arg->capacity, AI_EVENTS_KEPT);
	struct ai_contract *contract;
	struct ai_event *events;
	int ret = 0;

	contract = ai_contract_find(arg->id, false);
	if (!contract)
		return ai_fail(call, -ENOENT, "id is %llu, the caller may see no such contract",
			       arg->id);
	events = kcalloc(AI_EVENTS_KEPT, sizeof(*events), GFP_KERNEL);
	if (!events) {
		ret = ai_fail(call, -ENOMEM, "the system has no memory for events");
		goto put;
	}
	arg->count = ai_sla_peek(contract, arg->after, events, capacity);
	if (copy_to_user(u64_to_user_ptr(arg->events), events, arg->count * sizeof(*events)))
		ret = ai_fail(call, -EFAULT,
			      "events is 0x%llx, no %u elements of the caller are there",
			      arg->events, arg->count);
	kfree(events);
put:
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
	seq_printf(seq, "ai-degraded:\t%llu\n", info.degraded);
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
