// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is in a dump of the jobs of a device: the queue, where their tensors are, and
 * what the page table of the device says of that.
 */
#include <linux/slab.h>

#include "ai_contract.h"
#include "ai_dump.h"

/* Jobs looked at for those that the caller may see, with the queue locked. */
#define AI_DUMP_MAX_LOOKED_AT 1024
#define AI_DUMP_MAX_JOBS 256
/* Entries of the page table a tensor. */
#define AI_DUMP_MAX_PTES 64

struct ai_dump_jobs {
	u32 count;
	u32 looked_at;
	u64 omitted;
	struct ai_dump_job job[AI_DUMP_MAX_JOBS];
};

/* ---- the queue ---- */

static u32 ai_dump_job_flags(const struct ai_job *job)
{
	return (job->claimed ? AI_DUMP_JOB_CLAIMED : 0) |
	       (job->excess ? AI_DUMP_JOB_EXCESS : 0) |
	       (job->rerun ? AI_DUMP_JOB_RERUN : 0) |
	       (job->probe ? AI_DUMP_JOB_PROBE : 0) |
	       (job->trial ? AI_DUMP_JOB_TRIAL : 0);
}

static void ai_dump_fill_job(const struct ai_job *job, struct ai_dump_job *to)
{
	*to = (struct ai_dump_job){
		.job = job->id,
		.file = job->file_id,
		.contract = job->contract ? job->contract->id : 0,
		.model = job->model->id,
		.cookie = job->cookie,
		.submitted_ns = job->submitted,
		.started_ns = job->started,
		.due_ns = job->claimed ? job->due_ns : 0,
		.deadline_ns = job->deadline_ns,
		.state = job->state == AI_JOB_INFLIGHT ? AI_DUMP_JOB_IN_FLIGHT :
							 AI_DUMP_JOB_WAITS,
		.priority = job->priority,
		.flags = ai_dump_job_flags(job),
		.abort_error = -job->abort_error,
		.moved = job->moved,
		.inputs = job->nr_inputs,
		.outputs = job->nr_outputs,
		.model_version = job->model->version,
	};
	strscpy(to->model_name, job->model->name);
}

static bool ai_dump_sees_job(const struct ai_dumper *dumper, const struct ai_job *job)
{
	return ai_dumper_sees(dumper, job->contract ? job->contract->uid : INVALID_UID,
			      job->file_id);
}

/* The tensors of the job asked for are shown, or of all in flight. */
static void ai_dump_keep_job(struct ai_dumper *dumper, struct ai_job *job)
{
	if (dumper->job ? job->id != dumper->job : job->state != AI_JOB_INFLIGHT)
		return;
	if (dumper->nr_details == ARRAY_SIZE(dumper->details))
		return;
	kref_get(&job->ref);
	dumper->details[dumper->nr_details++] = job;
}

static void ai_dump_one_job(struct ai_dumper *dumper, struct ai_job *job,
			    struct ai_dump_jobs *jobs)
{
	lockdep_assert_held(&dumper->adev->lock);
	jobs->looked_at++;
	if (!ai_dump_sees_job(dumper, job))
		return;
	ai_dump_keep_job(dumper, job);
	if (jobs->count < ARRAY_SIZE(jobs->job))
		ai_dump_fill_job(job, &jobs->job[jobs->count++]);
	else
		jobs->omitted++;
}

static void ai_dump_all_jobs(struct ai_dumper *dumper, struct ai_dump_jobs *jobs)
{
	struct ai_device *adev = dumper->adev;
	struct rb_node *node;
	struct ai_job *job;

	spin_lock_irq(&adev->lock);
	list_for_each_entry(job, &adev->inflight, inflight_node)
		ai_dump_one_job(dumper, job, jobs);
	for (node = rb_first_cached(&adev->queue); node; node = rb_next(node)) {
		if (jobs->looked_at >= AI_DUMP_MAX_LOOKED_AT)
			break;
		ai_dump_one_job(dumper, rb_entry(node, struct ai_job, queue_node), jobs);
	}
	/* How long the queue is everybody may know. */
	jobs->omitted += adev->nr_inflight + adev->nr_queued - jobs->looked_at;
	spin_unlock_irq(&adev->lock);
}

void ai_dump_queue(struct ai_dumper *dumper)
{
	struct ai_dump_jobs *jobs = kvzalloc(sizeof(*jobs), dumper->gfp);
	u32 i;

	if (!jobs) {
		dumper->error = -ENOMEM;
		return;
	}
	ai_dump_all_jobs(dumper, jobs);
	if (dumper->job && !dumper->nr_details)
		dumper->error = -ENOENT;
	ai_dump_begin(dumper, AI_DUMP_QUEUE, sizeof(*jobs->job));
	for (i = 0; i < jobs->count; i++)
		ai_dump_add(dumper, &jobs->job[i]);
	ai_dump_omit(dumper, jobs->omitted);
	ai_dump_end(dumper);
	kvfree(jobs);
}

/* ---- tensors ---- */

static u32 ai_job_tensors(const struct ai_job *job)
{
	return job->nr_inputs + job->nr_outputs;
}

static void ai_dump_tensor(struct ai_dumper *dumper, const struct ai_job *job, u32 index)
{
	const struct ai_job_tensor *tensor = &job->tensor[index];
	const struct ai_region *region = tensor->bytes ? tensor->region : NULL;
	struct ai_dump_tensor element = {
		.job = job->id,
		.index = index,
		.flags = index < job->nr_inputs ? 0 : AI_DUMP_TENSOR_OUTPUT,
		.bytes = tensor->bytes,
	};

	if (region) {
		element.la = region->la + (tensor->offset >> PAGE_SHIFT);
		element.offset = offset_in_page(tensor->offset);
		element.va = tensor->va;
		element.region_la = region->la;
		element.region_pages = region->nr_pages;
		element.home = AI_LA_DEVICE(region->la);
		element.perm = region->perm;
		element.cache = region->cache;
		element.pieces = region->nr_chunks;
	}
	ai_dump_add(dumper, &element);
}

void ai_dump_tensors(struct ai_dumper *dumper)
{
	u32 i, k;

	ai_dump_begin(dumper, AI_DUMP_TENSORS, sizeof(struct ai_dump_tensor));
	for (i = 0; i < dumper->nr_details; i++)
		for (k = 0; k < ai_job_tensors(dumper->details[i]); k++)
			ai_dump_tensor(dumper, dumper->details[i], k);
	ai_dump_end(dumper);
}

/* ---- page tables ---- */

bool ai_dump_pte(struct ai_dumper *dumper, u64 va, u32 level, u64 bytes, u64 entry, u32 flags)
{
	struct ai_dump_pte *pte = &dumper->pte;

	if (!dumper->pte_left)
		return false;
	dumper->pte_left--;
	pte->va = va;
	pte->la = ai_va_to_la(va);
	pte->level = level;
	pte->bytes = bytes;
	pte->entry = entry;
	pte->flags = flags;
	return ai_dump_add(dumper, pte) && dumper->pte_left;
}
EXPORT_SYMBOL_GPL(ai_dump_pte);

static void ai_dump_tensor_ptes(struct ai_dumper *dumper, struct ai_job *job, u32 index)
{
	const struct ai_job_tensor *tensor = &job->tensor[index];
	u64 first = tensor->va & PAGE_MASK;
	u64 end = PAGE_ALIGN(tensor->va + tensor->bytes);
	u64 covered;

	if (!tensor->bytes)
		return;
	dumper->pte = (struct ai_dump_pte){ .job = job->id, .tensor = index };
	dumper->pte_left = AI_DUMP_MAX_PTES;
	dumper->adev->ops->dump_ptes(dumper->adev, job->as, first, end - first, dumper);
	covered = max(dumper->pte.va + dumper->pte.bytes, first);
	if (covered < end)
		ai_dump_omit(dumper, (end - covered) >> PAGE_SHIFT);
}

void ai_dump_ptes(struct ai_dumper *dumper)
{
	u32 i, k;

	if (!dumper->full) {
		dumper->withheld |= BIT_ULL(AI_DUMP_PTES);
		return;
	}
	if (!dumper->entered || !dumper->adev->ops->dump_ptes) {
		dumper->absent |= BIT_ULL(AI_DUMP_PTES);
		return;
	}
	ai_dump_begin(dumper, AI_DUMP_PTES, sizeof(struct ai_dump_pte));
	for (i = 0; i < dumper->nr_details; i++) {
		struct ai_job *job = dumper->details[i];

		for (k = 0; job->as && k < ai_job_tensors(job); k++)
			ai_dump_tensor_ptes(dumper, job, k);
	}
	ai_dump_end(dumper);
}
