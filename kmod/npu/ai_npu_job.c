// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs on the device. Each of AI_NPU_JOBS slots has a descriptor in coherent
 * memory, so that submitting needs no memory and does not sleep.
 *
 * The driver owns a job from ai_npu_job_submit() until it calls ai_job_done() or
 * ai_job_requeue(), which it does when the device has completed it or has been
 * stopped: never before the device can no longer write to it.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "ai_npu.h"

#define AI_NPU_DESC_BYTES struct_size_t(struct npu_job_desc, tensor, 2 * NPU_MAX_TENSORS)

static_assert(NPU_MESSAGE_BYTES <= AI_ERROR_LEN);

static struct ai_npu_queue *ai_npu_job_queue(struct ai_npu *npu)
{
	return &npu->queue[NPU_QUEUE_JOB];
}

/* ---- results ---- */

static int ai_npu_job_error(u32 status)
{
	switch (status) {
	case NPU_ST_OK:
		return 0;
	case NPU_ST_FAULT:
		return -EFAULT;
	case NPU_ST_BAD_MODEL:
		return -EBADMSG;
	case NPU_ST_UNSUPPORTED:
		return -EOPNOTSUPP;
	case NPU_ST_TOO_SMALL:
	case NPU_ST_NO_MEMORY:
		return -ENOSPC;
	case NPU_ST_BAD_TENSOR:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* What the device says of the outputs; ai.ko checks that shape and size agree. */
static bool ai_npu_job_read_outputs(struct ai_npu *npu, struct ai_job *job,
				    const struct npu_job_desc *desc, u32 status)
{
	u32 i;

	for (i = 0; i < job->nr_outputs; i++) {
		const struct npu_tensor *from = &desc->tensor[job->nr_inputs + i];
		struct ai_job_tensor *to = ai_job_output(job, i);

		to->needed = READ_ONCE(from->needed);
		to->dtype = READ_ONCE(from->dtype);
		to->rank = READ_ONCE(from->rank);
		if (to->rank <= NPU_MAX_DIMS && to->dtype && to->dtype <= AI_DTYPE_BFLOAT16 &&
		    to->needed <= (status == NPU_ST_OK ? to->bytes : S64_MAX)) {
			memcpy(to->dims, from->dims, sizeof(to->dims));
			continue;
		}
		if (ai_npu_fault(npu, AI_NPU_FAULT_RESULT))
			dev_warn(&npu->pdev->dev, "the device says that output %u of job %llu has type %u, %u dimensions and %llu bytes where there is room for %llu; taken as a failure\n",
				 i, job->id, to->dtype, to->rank, to->needed, to->bytes);
		memset(to->dims, 0, sizeof(to->dims));
		to->rank = 0;
		to->needed = 0;
		return false;
	}
	return true;
}

struct ai_npu_job_end {
	struct ai_job_result result;
	char message[AI_ERROR_LEN];
	bool requeue;
};

static s64 ai_npu_job_ran_ms(const struct ai_npu_slot *slot)
{
	return ktime_ms_delta(ktime_get(), slot->started);
}

/* It was told to end. One sentence on why and on what it took. */
static void ai_npu_job_aborted(struct ai_npu_job_end *end, int error, s64 ran_ms,
			       const char *how, const char *outcome)
{
	const char *why;

	switch (error) {
	case -ETIME:
		why = "did not end in time";
		break;
	case -ECANCELED:
		why = "was cancelled";
		break;
	case -ENODEV:
		why = "ran while the device was removed";
		break;
	default:
		why = "was ended with its caller";
	}
	scnprintf(end->message, sizeof(end->message), "the job %s (it ran for %lld ms); %s%s", why,
		  ran_ms, how, outcome);
	end->result.error = error ?: -EIO;
}

/* Fill in @end from a completion; under the lock of the queue, the slot is still taken. */
static void ai_npu_job_result(struct ai_npu *npu, struct ai_npu_slot *slot,
			      const struct npu_cpl *cpl, struct ai_npu_job_end *end)
{
	struct ai_job *job = slot->job;
	struct ai_job_result *result = &end->result;
	u32 status = cpl->status;

	result->error = ai_npu_job_error(status);
	result->run_ns = min_t(u64, cpl->run_ns, ktime_to_ns(ktime_sub(ktime_get(),
								       slot->started)));
	result->bytes_in_place = cpl->bytes_in_place;
	result->bytes_dma = cpl->bytes_dma;
	result->throttled = cpl->flags & NPU_CPL_THROTTLED;

	switch (status) {
	case NPU_ST_OK:
	case NPU_ST_TOO_SMALL:
		if (!ai_npu_job_read_outputs(npu, job, slot->desc, status)) {
			result->error = -EIO;
			strscpy(end->message, "the device described outputs that cannot be");
			return;
		}
		break;
	case NPU_ST_FAULT:
		result->fault_va = cpl->value;
		break;
	case NPU_ST_ABORTED:
		if (!slot->aborting) {
			strscpy(end->message, "the device ended the job without being told to");
			return;
		}
		atomic_inc(&npu->recovery.count[AI_NPU_RUNG_JOB]);
		ai_npu_job_aborted(end, job->abort_error, ai_npu_job_ran_ms(slot),
				   "", "the device ended it when told to");
		return;
	case NPU_ST_RESET:
		if (slot->aborting)
			ai_npu_job_aborted(end, job->abort_error, ai_npu_job_ran_ms(slot),
					   "it did not stop when told to, ",
					   "the device was recovered by engine reset");
		else if (slot->excused)
			end->requeue = true;
		else
			strscpy(end->message, "the device reset its engine without being told to");
		return;
	default:
		break;
	}
	if (!result->error)
		return;
	ai_npu_text(end->message, sizeof(end->message), slot->desc->message,
		    sizeof(slot->desc->message));
	if (!end->message[0])
		scnprintf(end->message, sizeof(end->message), "the device reports: %s",
			  ai_npu_status_name(status));
}

static void ai_npu_slot_free(struct ai_npu_slot *slot)
{
	slot->job = NULL;
	slot->aborting = false;
	slot->blamed = false;
	slot->excused = false;
}

static void ai_npu_job_complete(struct ai_npu *npu, struct ai_npu_request *req,
				const struct npu_cpl *cpl)
{
	struct ai_npu_slot *slot = container_of(req, struct ai_npu_slot, request);
	struct ai_npu_queue *queue = ai_npu_job_queue(npu);
	struct ai_npu_job_end end = { .result.message = end.message };
	struct ai_job *job;
	unsigned long flags;
	bool guilty = false;

	spin_lock_irqsave(&queue->lock, flags);
	job = slot->job;
	if (cpl) {
		ai_npu_job_result(npu, slot, cpl, &end);
	} else if (slot->aborting || slot->blamed) {
		/* What it took is known when the recovery ends. */
		guilty = true;
		npu->guilty[npu->nr_guilty++] = (struct ai_npu_guilty){
			.job = job,
			.ran_ms = ai_npu_job_ran_ms(slot),
			.aborting = slot->aborting,
		};
	} else {
		end.requeue = true;
	}
	ai_npu_slot_free(slot);
	spin_unlock_irqrestore(&queue->lock, flags);

	wake_up_all(&npu->job_wait);
	if (guilty)
		return;
	if (end.requeue)
		ai_job_requeue(job);
	else
		ai_job_done(job, &end.result);
}

/* ---- operations of ai.ko ---- */

static void ai_npu_job_describe(struct ai_job *job, struct npu_job_desc *desc)
{
	u32 i;

	desc->nr_inputs = job->nr_inputs;
	desc->nr_outputs = job->nr_outputs;
	desc->reserved = 0;
	desc->message[0] = '\0';
	for (i = 0; i < job->nr_inputs + job->nr_outputs; i++) {
		const struct ai_job_tensor *from = &job->tensor[i];
		struct npu_tensor *to = &desc->tensor[i];

		to->va = from->va;
		to->bytes = from->bytes;
		to->needed = 0;
		to->dtype = from->dtype;
		to->rank = from->rank;
		memcpy(to->dims, from->dims, sizeof(to->dims));
	}
}

int ai_npu_job_submit(struct ai_device *adev, struct ai_job *job)
{
	struct ai_npu *npu = adev->driver_data;
	struct ai_npu_queue *queue = ai_npu_job_queue(npu);
	struct ai_npu_as *as = job->as->driver_data;
	u32 tensors = job->nr_inputs + job->nr_outputs;
	struct npu_cmd cmd = {
		.op = NPU_OP_INFER,
		.asid = as->asid,
		.object = job->model->id,
		.desc_bytes = struct_size_t(struct npu_job_desc, tensor, tensors),
	};
	struct ai_npu_slot *slot = NULL;
	unsigned long flags;
	int ret = -EBUSY;
	int aborted;
	u32 i;

	if (job->nr_inputs > NPU_MAX_TENSORS || job->nr_outputs > NPU_MAX_TENSORS)
		return -E2BIG;

	spin_lock_irqsave(&queue->lock, flags);
	for (i = 0; i < AI_NPU_JOBS && !slot; i++)
		if (!npu->slots[i].job)
			slot = &npu->slots[i];
	/* ai_npu_job_abort() has not found it in a slot then. */
	aborted = READ_ONCE(job->abort_error);
	if (!WARN_ON_ONCE(!slot) && !aborted) {
		ai_npu_job_describe(job, slot->desc);
		cmd.desc_addr = slot->desc_dma;
		slot->job = job;
		slot->started = ktime_get();
		slot->excused = npu->engine_reset;
		ret = ai_npu_queue_send_locked(queue, &slot->request, &cmd);
		if (ret)
			ai_npu_slot_free(slot);
	}
	spin_unlock_irqrestore(&queue->lock, flags);

	if (aborted) {
		struct ai_job_result result = {
			.error = aborted,
			.message = "it was ended before the device took it",
		};

		ai_job_done(job, &result);
		return 0;
	}
	/* A recovery began after ai.ko had chosen the job: it waits like the others. */
	if (ret == -ESHUTDOWN || ret == -EBUSY) {
		ai_job_requeue(job);
		return 0;
	}
	return ret;
}

void ai_npu_job_abort(struct ai_device *adev, struct ai_job *job)
{
	struct ai_npu *npu = adev->driver_data;
	struct ai_npu_queue *queue = ai_npu_job_queue(npu);
	struct npu_cmd cmd = { .op = NPU_OP_ABORT };
	struct ai_npu_slot *slot = NULL;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&queue->lock, flags);
	for (i = 0; i < AI_NPU_JOBS && !slot; i++)
		if (npu->slots[i].job == job)
			slot = &npu->slots[i];
	if (!slot || slot->aborting) {
		/* It has ended, or will when the recovery ends, or was told before. */
		spin_unlock_irqrestore(&queue->lock, flags);
		return;
	}
	slot->aborting = true;
	slot->aborted = jiffies;
	cmd.object = slot->request.tag;
	spin_unlock_irqrestore(&queue->lock, flags);

	/*
	 * Nobody waits for the answer: the completion of the job says whether it
	 * helped, and the time-out whether it did not, or could not be sent.
	 */
	ai_npu_queue_send(&npu->queue[NPU_QUEUE_CTRL], NULL, &cmd);
	ai_npu_recovery_expect_abort(npu);
}

/* ---- recovery ---- */

/**
 * ai_npu_jobs_aborting() - look for jobs that were told to end and have not
 * @npu: the device
 * @overdue: count only those that were given the time to do so
 *
 * Return: whether there is one.
 */
bool ai_npu_jobs_aborting(struct ai_npu *npu, bool overdue)
{
	unsigned long limit = msecs_to_jiffies(ai_npu_timeout(&ai_npu_abort_timeout_ms));
	struct ai_npu_queue *queue = ai_npu_job_queue(npu);
	unsigned long flags;
	bool found = false;
	u32 i;

	spin_lock_irqsave(&queue->lock, flags);
	for (i = 0; i < AI_NPU_JOBS; i++) {
		struct ai_npu_slot *slot = &npu->slots[i];

		found |= slot->job && slot->aborting &&
			 (!overdue || time_after_eq(jiffies, slot->aborted + limit));
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return found;
}

/**
 * ai_npu_jobs_excuse() - the engine is about to be reset, or has been
 * @npu: the device
 * @begin: it is about to be
 *
 * A job that is with the device meanwhile and ends by a reset runs again, unless
 * it was told to end.
 */
void ai_npu_jobs_excuse(struct ai_npu *npu, bool begin)
{
	struct ai_npu_queue *queue = ai_npu_job_queue(npu);
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&queue->lock, flags);
	npu->engine_reset = begin;
	for (i = 0; begin && i < AI_NPU_JOBS; i++)
		npu->slots[i].excused = npu->slots[i].job;
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * ai_npu_jobs_blame() - find the job that made the device fail
 * @npu: the device, about to be stopped
 * @sure: it failed by itself
 *
 * It is one that did not end when told to; else the oldest, which is what the
 * device was working on. To run it again could have the same effect again: if it
 * is not @sure that it is to blame it gets one more chance.
 *
 * Return: how many full recoveries are the doing of jobs and not of the device:
 * this one, and that before which a job ran that now runs again; or 0.
 */
u32 ai_npu_jobs_blame(struct ai_npu *npu, bool sure)
{
	struct ai_npu_queue *queue = ai_npu_job_queue(npu);
	struct ai_npu_slot *oldest = NULL;
	unsigned long flags;
	u32 i, count = 0;

	spin_lock_irqsave(&queue->lock, flags);
	for (i = 0; i < AI_NPU_JOBS; i++) {
		struct ai_npu_slot *slot = &npu->slots[i];

		if (!slot->job)
			continue;
		if (slot->aborting) {
			oldest = NULL;
			count = 1;
			break;
		}
		if (!oldest || ktime_before(slot->started, oldest->started))
			oldest = slot;
	}
	if (oldest && (sure || oldest->job->rerun)) {
		oldest->blamed = true;
		count = sure ? 1 : 2;
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return count;
}

/**
 * ai_npu_jobs_end_guilty() - end the jobs that made a recovery necessary
 * @npu: the device, stopped since they ran
 * @rung: what helped, or %AI_NPU_RUNG_LOST
 * @ms: how long that took
 * @reason: clause on what had happened
 */
void ai_npu_jobs_end_guilty(struct ai_npu *npu, enum ai_npu_rung rung, s64 ms,
			    const char *reason)
{
	struct ai_npu_queue *queue = ai_npu_job_queue(npu);
	struct ai_npu_guilty guilty[AI_NPU_JOBS];
	unsigned long flags;
	char outcome[96];
	u32 i, count;

	if (rung == AI_NPU_RUNG_LOST)
		scnprintf(outcome, sizeof(outcome), "the device did not come back and is lost");
	else
		scnprintf(outcome, sizeof(outcome), "the device was recovered by %s in %lld ms",
			  ai_npu_rung_name(rung), ms);

	spin_lock_irqsave(&queue->lock, flags);
	count = npu->nr_guilty;
	memcpy(guilty, npu->guilty, sizeof(guilty));
	npu->nr_guilty = 0;
	spin_unlock_irqrestore(&queue->lock, flags);

	for (i = 0; i < count; i++) {
		struct ai_npu_job_end end = { .result.message = end.message };

		if (guilty[i].aborting) {
			ai_npu_job_aborted(&end, guilty[i].job->abort_error, guilty[i].ran_ms,
					   "it did not stop when told to, ", outcome);
		} else {
			scnprintf(end.message, sizeof(end.message),
				  "%s while this job ran (%lld ms); %s", reason, guilty[i].ran_ms,
				  outcome);
			end.result.error = -EIO;
		}
		if (rung == AI_NPU_RUNG_LOST)
			end.result.error = -ENODEV;
		ai_job_done(guilty[i].job, &end.result);
	}
}

/* ---- life ---- */

int ai_npu_jobs_init(struct ai_npu *npu)
{
	u32 i;

	for (i = 0; i < AI_NPU_JOBS; i++) {
		struct ai_npu_slot *slot = &npu->slots[i];

		slot->request.done = ai_npu_job_complete;
		slot->desc = dma_alloc_coherent(&npu->pdev->dev, AI_NPU_DESC_BYTES,
						&slot->desc_dma, GFP_KERNEL);
		if (!slot->desc) {
			ai_npu_jobs_fini(npu);
			return -ENOMEM;
		}
	}
	return 0;
}

void ai_npu_jobs_fini(struct ai_npu *npu)
{
	u32 i;

	for (i = 0; i < AI_NPU_JOBS; i++) {
		struct ai_npu_slot *slot = &npu->slots[i];

		WARN_ON(slot->job);
		if (slot->desc)
			dma_free_coherent(&npu->pdev->dev, AI_NPU_DESC_BYTES, slot->desc,
					  slot->desc_dma);
		slot->desc = NULL;
	}
}
