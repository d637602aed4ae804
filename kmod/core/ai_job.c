// SPDX-License-Identifier: GPL-2.0-only
/*
 * One inference: checking a call, running it, waiting for it.
 *
 * Who waits has a reference to the job and the queue has one. A caller that
 * leaves early tells the driver to end the job and goes; the job keeps the
 * memory, the model and the address space until the driver has ended it.
 */
#include <linux/capability.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_memory.h"

#define AI_MAX_PRIORITY 7
/* Who waits with a higher one can starve all others. */
#define AI_MAX_FREE_PRIORITY 3
/* After being told to end a job a driver resets as much as it takes; see ai_driver.h. */
#define AI_ABORT_TIMEOUT_MS 30000

static atomic64_t ai_job_ids = ATOMIC64_INIT(0);

static void ai_job_free(struct ai_job *job)
{
	u32 i;

	for (i = 0; i < job->nr_inputs + job->nr_outputs; i++)
		ai_region_put(job->tensor[i].region);
	ai_as_put(job->as);
	if (job->contract)
		ai_contract_abandon(job);
	ai_model_put(job->model);
	ai_device_put(job->adev);
	kfree(job);
}

static void ai_job_release_work(struct work_struct *work)
{
	ai_job_free(container_of(work, struct ai_job, release_work));
}

static void ai_job_release_later(struct kref *ref)
{
	struct ai_job *job = container_of(ref, struct ai_job, ref);

	INIT_WORK(&job->release_work, ai_job_release_work);
	queue_work(ai_wq, &job->release_work);
}

static void ai_job_release_now(struct kref *ref)
{
	ai_job_free(container_of(ref, struct ai_job, ref));
}

/* Any context. */
void ai_job_put(struct ai_job *job)
{
	kref_put(&job->ref, ai_job_release_later);
}

/* ---- checks ---- */

static const char *ai_io_what(bool input)
{
	return input ? "input" : "output";
}

/* Bytes of the elements, checked against overflow; false if they cannot be. */
static bool ai_shape_bytes(const u64 *dims, u32 rank, u32 element, u64 *bytes)
{
	bool empty = false;
	u64 total = element;
	u32 i;

	for (i = 0; i < rank; i++)
		empty |= !dims[i];
	if (empty) {
		*bytes = 0;
		return true;
	}
	for (i = 0; i < rank; i++)
		if (check_mul_overflow(total, dims[i], &total))
			return false;
	*bytes = total;
	return true;
}

static int ai_check_shape(struct ai_call *call, const struct ai_tensor *t,
			  const struct ai_tensor_info *info, u32 i)
{
	u32 element = ai_dtype_bytes(info->dtype);
	bool any_rank = info->rank == AI_RANK_ANY;
	u64 bytes, least;
	u32 d;

	if (t->dtype != info->dtype)
		return ai_fail(call, -EINVAL,
			       "input %u '%s' has dtype %u (%s), the model takes %u (%s)",
			       i, info->name, t->dtype, ai_dtype_name(t->dtype), info->dtype,
			       ai_dtype_name(info->dtype));
	if (t->rank > AI_MAX_DIMS)
		return ai_fail(call, -EINVAL, "input %u '%s' has rank %u, the most is %u", i,
			       info->name, t->rank, AI_MAX_DIMS);
	if (!any_rank && t->rank != info->rank)
		return ai_fail(call, -EINVAL, "input %u '%s' has rank %u, the model takes %u", i,
			       info->name, t->rank, info->rank);
	for (d = 0; d < t->rank; d++)
		if (!any_rank && info->dims[d] >= 0 && t->dims[d] != (u64)info->dims[d])
			return ai_fail(call, -EINVAL,
				       "input %u '%s' has size %llu in dimension %u, the model takes %lld",
				       i, info->name, t->dims[d], d, info->dims[d]);
	for (; d < AI_MAX_DIMS; d++)
		if (t->dims[d])
			return ai_fail(call, -EINVAL,
				       "input %u '%s' has size %llu in dimension %u, beyond its rank %u it must be 0",
				       i, info->name, t->dims[d], d, t->rank);

	if (!ai_shape_bytes(t->dims, t->rank, element ?: sizeof(u64), &bytes) ||
	    bytes > S64_MAX)
		return ai_fail(call, -EINVAL,
			       "input %u '%s' has a shape whose elements take more than 2^63 bytes",
			       i, info->name);
	if (element && t->bytes != bytes)
		return ai_fail(call, -EINVAL, "input %u '%s' has %llu bytes, its shape takes %llu",
			       i, info->name, t->bytes, bytes);
	/* Strings: a table with one entry more than there are elements, then characters. */
	least = bytes + sizeof(u64);
	if (!element && t->bytes < least)
		return ai_fail(call, -EINVAL,
			       "input %u '%s' has %llu bytes, its table of strings alone takes %llu",
			       i, info->name, t->bytes, least);
	return 0;
}

/* Resolve the address of a tensor: the region, and where in it. */
static int ai_check_address(struct ai_call *call, const struct ai_tensor *t,
			    const struct ai_tensor_info *info, u32 i, bool input,
			    struct ai_device *adev, struct ai_job_tensor *jt)
{
	u32 needed = input ? AI_PERM_READ : AI_PERM_WRITE;
	u32 element = ai_dtype_bytes(info->dtype) ?: sizeof(u64);
	const char *io = ai_io_what(input);
	struct ai_region *region;
	u64 offset, end;

	jt->bytes = t->bytes;
	if (!t->bytes) {
		if (t->la || t->offset)
			return ai_fail(call, -EINVAL,
				       "%s %u '%s' has no bytes, so la 0x%llx and offset %llu must be 0",
				       io, i, info->name, t->la, t->offset);
		return 0;
	}

	region = ai_region_lookup(call, t->la, io, i);
	if (IS_ERR(region))
		return PTR_ERR(region);
	jt->region = region;
	if (region->home && region->home != adev)
		return ai_fail(call, -EOPNOTSUPP,
			       "%s %u '%s' is in memory of %s, which %s cannot reach",
			       io, i, info->name, dev_name(&region->home->dev),
			       dev_name(&adev->dev));

	if (check_add_overflow((t->la - region->la) << PAGE_SHIFT, t->offset, &offset) ||
	    check_add_overflow(offset, t->bytes, &end) || end > region->nr_pages << PAGE_SHIFT)
		return ai_fail(call, -EINVAL,
			       "%s %u '%s' has offset %llu and %llu bytes, from that page on the range has %llu",
			       io, i, info->name, t->offset, t->bytes,
			       (region->nr_pages << PAGE_SHIFT) -
			       ((t->la - region->la) << PAGE_SHIFT));
	if (offset % min(element, 8U))
		return ai_fail(call, -EINVAL,
			       "%s %u '%s' has offset %llu, elements of %s need a multiple of %u",
			       io, i, info->name, t->offset, ai_dtype_name(info->dtype),
			       min(element, 8U));
	if (!(region->perm & needed))
		return ai_fail(call, -EACCES,
			       "%s %u '%s' is at la 0x%llx, which devices may not %s",
			       io, i, info->name, t->la, input ? "read" : "write");
	jt->offset = offset;
	jt->va = ai_region_va(region) + offset;
	return 0;
}

static int ai_job_read_tensors(struct ai_call *call, struct ai_job *job, u64 user, u32 count,
			       bool input)
{
	const struct ai_tensor_info *info = job->model->io + (input ? 0 : job->nr_inputs);
	struct ai_job_tensor *jt = job->tensor + (input ? 0 : job->nr_inputs);
	struct ai_tensor __user *from = u64_to_user_ptr(user);
	struct ai_tensor t;
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		if (copy_from_user(&t, from + i, sizeof(t)))
			return ai_fail(call, -EFAULT,
				       "%ss is 0x%llx, no %u elements of the caller are there",
				       ai_io_what(input), user, count);
		if (input) {
			ret = ai_check_shape(call, &t, &info[i], i);
			if (ret)
				return ret;
			jt[i].dtype = t.dtype;
			jt[i].rank = t.rank;
			memcpy(jt[i].dims, t.dims, sizeof(t.dims));
		}
		ret = ai_check_address(call, &t, &info[i], i, input, job->adev, &jt[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int ai_infer_check(struct ai_call *call, const struct ai_infer *arg)
{
	if (arg->contract && !(arg->hdr.flags & AI_INFER_CONTRACT))
		return ai_fail(call, -EINVAL,
			       "contract is %d, without AI_INFER_CONTRACT it must be 0",
			       arg->contract);
	if (arg->priority > AI_MAX_PRIORITY)
		return ai_fail(call, -EINVAL, "priority is %u, the highest is %u", arg->priority,
			       AI_MAX_PRIORITY);
	if (arg->priority > AI_MAX_FREE_PRIORITY && !capable(CAP_SYS_NICE))
		return ai_fail(call, -EPERM,
			       "priority is %u, above %u the caller needs CAP_SYS_NICE",
			       arg->priority, AI_MAX_FREE_PRIORITY);
	if (arg->deadline_ns < 0)
		return ai_fail(call, -EINVAL, "deadline_ns is %lld, it is a point in time after 0",
			       arg->deadline_ns);
	if (arg->timeout_ns < 0)
		return ai_fail(call, -EINVAL, "timeout_ns is %lld, it is a point in time after 0",
			       arg->timeout_ns);
	if (arg->deadline_ns || arg->timeout_ns) {
		s64 now = ktime_get_ns();

		if (arg->deadline_ns && arg->deadline_ns <= now)
			return ai_fail(call, -ETIME,
				       "deadline_ns is %lld, which passed %lld ns ago",
				       arg->deadline_ns, now - arg->deadline_ns);
		if (arg->timeout_ns && arg->timeout_ns <= now)
			return ai_fail(call, -ETIME, "timeout_ns is %lld, which passed %lld ns ago",
				       arg->timeout_ns, now - arg->timeout_ns);
	}
	return 0;
}

static int ai_model_check(struct ai_call *call, struct ai_model *model, const struct ai_infer *arg)
{
	int ret = ai_model_ready(call, model, arg->model);

	if (ret)
		return ret;
	if (arg->nr_inputs != model->nr_inputs)
		return ai_fail(call, -EINVAL, "nr_inputs is %u, model %u (%s) has %u",
			       arg->nr_inputs, arg->model, model->name, model->nr_inputs);
	if (arg->nr_outputs != model->nr_outputs)
		return ai_fail(call, -EINVAL, "nr_outputs is %u, model %u (%s) has %u",
			       arg->nr_outputs, arg->model, model->name, model->nr_outputs);
	return 0;
}

/* ---- the call ---- */

static struct ai_job *ai_job_create(struct ai_call *call, struct ai_model *model,
				    const struct ai_infer *arg)
{
	u32 count = arg->nr_inputs + arg->nr_outputs;
	struct ai_job *job;

	job = kzalloc(struct_size(job, tensor, count), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(ai_fail(call, -ENOMEM, "the system has no memory for a job"));

	kref_init(&job->ref);
	kref_get(&model->ref);
	job->model = model;
	job->adev = ai_device_get(model->adev);
	job->id = atomic64_inc_return(&ai_job_ids);
	job->nr_inputs = arg->nr_inputs;
	job->nr_outputs = arg->nr_outputs;
	job->file_id = call->file->id;
	job->cookie = arg->cookie;
	job->priority = arg->priority;
	job->deadline_ns = arg->deadline_ns;
	INIT_LIST_HEAD(&job->driver_node);
	INIT_LIST_HEAD(&job->file_node);
	INIT_LIST_HEAD(&job->inflight_node);
	INIT_LIST_HEAD(&job->share_node);
	init_completion(&job->done);
	return job;
}

/* For a device that has no address spaces: the CPU does its work. */
static int ai_job_vmap(struct ai_call *call, struct ai_job *job)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < job->nr_inputs + job->nr_outputs && !ret; i++) {
		struct ai_region *region = job->tensor[i].region;

		if (region)
			ret = ai_region_prepare_vmap(region);
		if (ret)
			ai_fail(call, ret, "la 0x%llx could not be mapped for %s", region->la,
				dev_name(&job->adev->dev));
	}
	return ret;
}

static int ai_job_map(struct ai_call *call, struct ai_job *job, ktime_t until)
{
	struct ai_as *as = ai_file_as(call, job->adev, until);
	int ret = 0;
	u32 i;

	if (IS_ERR(as))
		return PTR_ERR(as);
	if (!as)
		return ai_job_vmap(call, job);
	job->as = as;
	for (i = 0; i < job->nr_inputs + job->nr_outputs && !ret; i++)
		if (job->tensor[i].region)
			ret = ai_as_map(call, as, job->tensor[i].region, until);
	return ret;
}

/* Others may use what is shared: until they do not. */
static int ai_job_wait_shared(struct ai_call *call, struct ai_job *job, ktime_t until)
{
	ktime_t limit = 0;
	int ret = 0;
	u32 i;

	for (i = 0; i < job->nr_inputs + job->nr_outputs && !ret; i++) {
		struct ai_region *region = job->tensor[i].region;

		if (!region || !ai_region_resv(region))
			continue;
		if (!limit)
			limit = ktime_add_ms(ktime_get(), job->adev->job_timeout_ms);
		if (until)
			limit = min(limit, until);
		ret = ai_region_wait(call, region, i >= job->nr_inputs, limit);
	}
	return ret;
}

/*
 * How long to wait at once, in jiffies; at the end of it something is looked at.
 * A job that has not started is not looked at before it can have run too long.
 */
static long ai_job_patience(const struct ai_job *job, ktime_t started, ktime_t timeout)
{
	ktime_t limit = ktime_add_ms(started ?: ktime_get(), job->adev->job_timeout_ms);
	long left = max(ai_jiffies_until(limit), 1L);

	return timeout ? min(left, max(ai_jiffies_until(timeout), 1L)) : left;
}

/* Since when the device has the job, or 0 while it waits. */
static ktime_t ai_job_started(struct ai_job *job)
{
	ktime_t started = 0;
	unsigned long flags;

	spin_lock_irqsave(&job->adev->lock, flags);
	if (job->state == AI_JOB_INFLIGHT)
		started = job->started;
	spin_unlock_irqrestore(&job->adev->lock, flags);
	return started;
}

/*
 * Wait until the job has ended, or there is a reason to leave it to the driver.
 *
 * Return: 0 when it has ended, else -EINTR or -ETIME.
 */
static int ai_job_wait(struct ai_call *call, struct ai_job *job, s64 timeout_ns)
{
	const char *name = dev_name(&job->adev->dev);
	ktime_t started = 0, now, limit;
	long left;

	/* A job that ended within its submission needs no more than this. */
	if (try_wait_for_completion(&job->done))
		return 0;
	for (;;) {
		left = wait_for_completion_killable_timeout(&job->done,
							    ai_job_patience(job, started,
									    timeout_ns));
		if (left > 0)
			return 0;
		if (left < 0) {
			ai_sched_abort(job, -EINTR);
			return ai_fail(call, -EINTR, "a fatal signal ended the wait for job %llu",
				       job->id);
		}

		started = ai_job_started(job);
		now = ktime_get();
		if (timeout_ns && now >= timeout_ns) {
			if (!ai_sched_abort(job, -ETIME))
				return 0;
			return ai_fail(call, -ETIME, "timeout_ns passed while job %llu %s %s",
				       job->id, started ? "ran on" : "waited for", name);
		}
		if (!started || now < ktime_add_ms(started, job->adev->job_timeout_ms))
			continue;
		/* The driver says how it ended the job; that takes bounded time. */
		if (!ai_sched_abort(job, -ETIME))
			return 0;
		limit = ktime_add_ms(now, AI_ABORT_TIMEOUT_MS);
		if (timeout_ns)
			limit = min(limit, timeout_ns);
		do {
			left = wait_for_completion_killable_timeout(&job->done,
								    ai_jiffies_until(limit));
		} while (!left && ai_time_left(limit));
		if (left > 0)
			return 0;
		return ai_fail(call, left ? -EINTR : -ETIME,
			       "job %llu ran on %s for more than the %u ms that one job may take, and has not ended yet",
			       job->id, name, job->adev->job_timeout_ms);
	}
}

/* What a device says of its outputs is not to be trusted. */
static bool ai_job_outputs_valid(struct ai_job *job)
{
	u32 i, d;

	for (i = 0; i < job->nr_outputs; i++) {
		struct ai_job_tensor *jt = ai_job_output(job, i);
		const struct ai_tensor_info *info = &job->model->io[job->nr_inputs + i];
		u32 element = ai_dtype_bytes(jt->dtype);
		u64 bytes;

		if (jt->dtype != info->dtype || jt->rank > AI_MAX_DIMS ||
		    !ai_shape_bytes(jt->dims, jt->rank, element ?: sizeof(u64), &bytes) ||
		    bytes > S64_MAX)
			return false;
		for (d = jt->rank; d < AI_MAX_DIMS; d++)
			jt->dims[d] = 0;
		if (element ? jt->needed != bytes : jt->needed < bytes + sizeof(u64))
			return false;
		if (!job->result.error && jt->needed > jt->bytes)
			return false;
	}
	return true;
}

static int ai_job_write_outputs(struct ai_call *call, struct ai_job *job, u64 user)
{
	struct ai_tensor __user *to = u64_to_user_ptr(user);
	const size_t first = offsetof(struct ai_tensor, needed);
	struct ai_tensor t;
	u32 i;

	memset(&t, 0, sizeof(t));
	for (i = 0; i < job->nr_outputs; i++) {
		const struct ai_job_tensor *jt = ai_job_output(job, i);

		t.needed = jt->needed;
		t.dtype = jt->dtype;
		t.rank = jt->rank;
		memcpy(t.dims, jt->dims, sizeof(t.dims));
		if (copy_to_user((u8 __user *)(to + i) + first, (u8 *)&t + first,
				 sizeof(t) - first))
			return ai_fail(call, -EFAULT, "outputs is 0x%llx, it cannot be written",
				       user);
	}
	return 0;
}

static void ai_job_fill_record(struct ai_job *job, struct ai_record *record, bool ended)
{
	struct ai_device *adev = job->adev;
	unsigned long flags;

	memset(record, 0, sizeof(*record));
	record->job = job->id;
	record->device = adev->id;
	strscpy(record->device_name, dev_name(&adev->dev));
	spin_lock_irqsave(&adev->lock, flags);
	strscpy(record->firmware, adev->firmware);
	record->generation = adev->generation;
	spin_unlock_irqrestore(&adev->lock, flags);
	if (!ended)
		return;

	record->generation = job->generation;
	if (job->started) {
		record->queue_ns = ktime_to_ns(ktime_sub(job->started, job->submitted));
		record->run_ns = job->result.run_ns ?:
				 ktime_to_ns(ktime_sub(job->ended, job->started));
	} else {
		record->queue_ns = ktime_to_ns(ktime_sub(job->ended, job->submitted));
	}
	record->bytes_cpu = job->result.bytes_cpu;
	record->bytes_dma = job->result.bytes_dma;
	record->bytes_in_place = job->result.bytes_in_place;
	if (job->result.fault_va)
		record->fault_la = ai_va_to_la(job->result.fault_va);
	if (job->late)
		record->flags |= AI_RECORD_LATE;
	if (job->rerun)
		record->flags |= AI_RECORD_RERUN;
	if (job->result.throttled)
		record->flags |= AI_RECORD_THROTTLED;
}

/* Names the first output that needs more than there is. */
static int ai_job_too_small(struct ai_call *call, struct ai_job *job)
{
	u32 i;

	for (i = 0; i < job->nr_outputs; i++) {
		const struct ai_job_tensor *jt = ai_job_output(job, i);

		if (jt->needed > jt->bytes)
			return ai_fail(call, -ENOSPC,
				       "output %u '%s' has room for %llu bytes, %llu are needed",
				       i, job->model->io[job->nr_inputs + i].name, jt->bytes,
				       jt->needed);
	}
	return ai_fail(call, -ENOSPC, "%s: %s", dev_name(&job->adev->dev), job->message);
}

static int ai_job_result(struct ai_call *call, struct ai_job *job, u64 outputs)
{
	const char *name = dev_name(&job->adev->dev);
	int error = job->result.error;
	int ret;

	/* With ENOSPC the outputs say how many bytes they would take. */
	if (!error || error == -ENOSPC) {
		if (ai_job_outputs_valid(job)) {
			ret = ai_job_write_outputs(call, job, outputs);
			if (ret || !error)
				return ret;
			return ai_job_too_small(call, job);
		} else if (!error) {
			return ai_fail(call, -EIO, "%s describes outputs that cannot be", name);
		}
	}
	if (error)
		return ai_fail(call, error, "%s: %s", name,
			       job->message[0] ? job->message : "the device gave no reason");
	return 0;
}

static void ai_job_fill_service(const struct ai_job *job, struct ai_infer *arg)
{
	arg->latency_ns = ktime_to_ns(ktime_sub(job->ended, job->submitted));
	arg->service = job->service;
	arg->broken = job->broken;
	arg->energy_uj = job->energy_uj;
	arg->moved = job->moved;
}

static int ai_job_run(struct ai_call *call, struct ai_job *job, struct ai_contract *contract,
		      struct ai_infer *arg)
{
	struct ai_file *file = call->file;
	int ret;

	if (contract) {
		ret = ai_contract_begin(call, job, contract);
		if (ret)
			return ret;
	}

	spin_lock(&file->jobs_lock);
	list_add(&job->file_node, &file->jobs);
	spin_unlock(&file->jobs_lock);

	ai_sched_submit(job);
	ret = ai_job_wait(call, job, arg->timeout_ns);

	spin_lock(&file->jobs_lock);
	list_del(&job->file_node);
	spin_unlock(&file->jobs_lock);

	ai_job_fill_record(job, &arg->record, !ret);
	if (!ret)
		ai_job_fill_service(job, arg);
	job->waited_for = !ret;
	return ret ?: ai_job_result(call, job, arg->outputs);
}

/*
 * Run @model for the caller. When its device has failed the request and the contract
 * says that it runs elsewhere then, @again is set to where.
 */
static int ai_infer_on(struct ai_call *call, struct ai_infer *arg, struct ai_contract *contract,
		       struct ai_model *model, u32 *moved, struct ai_model **again)
{
	struct ai_job *job;
	int ret;

	*again = NULL;
	ret = ai_model_check(call, model, arg);
	if (ret)
		return ret;
	job = ai_job_create(call, model, arg);
	if (IS_ERR(job))
		return PTR_ERR(job);
	job->moved = *moved;

	ret = ai_job_read_tensors(call, job, arg->inputs, arg->nr_inputs, true);
	if (!ret)
		ret = ai_job_read_tensors(call, job, arg->outputs, arg->nr_outputs, false);
	if (!ret)
		ret = ai_job_map(call, job, arg->timeout_ns);
	if (!ret)
		ret = ai_job_wait_shared(call, job, arg->timeout_ns);
	if (!ret)
		ret = ai_job_run(call, job, contract, arg);
	if (ret && contract)
		*again = ai_fallback_again(contract, job, ret, moved);
	kref_put(&job->ref, ai_job_release_now);
	return ret;
}

static int ai_infer_under(struct ai_call *call, struct ai_infer *arg,
			  struct ai_contract *contract, struct ai_model *model)
{
	struct ai_model *again;
	u32 moved = 0;
	int ret;

	if (contract)
		model = ai_fallback_route(call, contract, model, &moved);
	if (IS_ERR(model))
		return PTR_ERR(model);
	ret = ai_infer_on(call, arg, contract, model, &moved, &again);
	/* Once: what runs on the fallback is not moved again. */
	if (again)
		ret = ai_infer_on(call, arg, contract, again, &moved, &again);
	return ret;
}

int ai_ioctl_infer(struct ai_call *call, struct ai_infer *arg)
{
	struct ai_contract *contract = NULL;
	struct ai_model *model;
	int ret;

	memset(&arg->record, 0, sizeof(arg->record));
	arg->service = AI_SERVICE_NONE;
	arg->broken = 0;
	arg->moved = 0;
	arg->latency_ns = 0;
	arg->energy_uj = 0;
	ret = ai_infer_check(call, arg);
	if (ret)
		return ret;
	model = ai_model_lookup(call, arg->model);
	if (IS_ERR(model))
		return PTR_ERR(model);
	if (arg->hdr.flags & AI_INFER_CONTRACT)
		contract = ai_contract_get_fd(call, arg->contract);
	if (IS_ERR(contract)) {
		ai_model_put(model);
		return PTR_ERR(contract);
	}
	ret = ai_infer_under(call, arg, contract, model);
	if (contract)
		ai_contract_put(contract);
	ai_model_put(model);
	return ret;
}

int ai_ioctl_cancel(struct ai_call *call, struct ai_cancel *arg)
{
	struct ai_file *file = call->file;
	struct ai_job *job, *found;

	if (arg->reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", arg->reserved);

	arg->cancelled = 0;
	do {
		found = NULL;
		spin_lock(&file->jobs_lock);
		list_for_each_entry(job, &file->jobs, file_node) {
			/* A moment old is good enough: aborting twice does no harm. */
			if (job->cookie == arg->cookie && !READ_ONCE(job->abort_error) &&
			    READ_ONCE(job->state) != AI_JOB_DONE) {
				kref_get(&job->ref);
				found = job;
				break;
			}
		}
		spin_unlock(&file->jobs_lock);
		if (found) {
			arg->cancelled += ai_sched_abort(found, -ECANCELED);
			ai_job_put(found);
		}
	} while (found && !fatal_signal_pending(current));
	return 0;
}
