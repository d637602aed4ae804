// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue of each device: jobs of contracts by the time at which they are due,
 * then the others by priority, by deadline, in order of arrival. As many jobs as the
 * device takes are in flight, the rest waits here; while contracts have a claim on
 * it only so many that none of theirs waits for long, see ai_admission.c.
 */
#include <linux/slab.h>

#include "ai_admission.h"
#include "ai_internal.h"
#include "ai_trace.h"

/* Jobs that one caller gives to a device for itself and others. */
#define AI_SCHED_ROUNDS 64

static bool ai_job_before(const struct ai_job *a, const struct ai_job *b)
{
	s64 da = a->deadline_ns ?: S64_MAX, db = b->deadline_ns ?: S64_MAX;

	/* What ran already and was lost by another's fault goes first. */
	if (a->rerun != b->rerun)
		return a->rerun;
	if (a->claimed != b->claimed)
		return a->claimed;
	if (a->claimed && a->due_ns != b->due_ns)
		return a->due_ns < b->due_ns;
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (da != db)
		return da < db;
	return a->seq < b->seq;
}

static bool ai_job_less(struct rb_node *a, const struct rb_node *b)
{
	return ai_job_before(rb_entry(a, struct ai_job, queue_node),
			     rb_entry(b, struct ai_job, queue_node));
}

static void ai_queue_add(struct ai_device *adev, struct ai_job *job)
{
	lockdep_assert_held(&adev->lock);
	job->state = AI_JOB_QUEUED;
	rb_add_cached(&job->queue_node, &adev->queue, ai_job_less);
	adev->nr_queued++;
	if (job->shared && !job->claimed)
		ai_share_wait(job);
}

static void ai_queue_del(struct ai_device *adev, struct ai_job *job)
{
	lockdep_assert_held(&adev->lock);
	rb_erase_cached(&job->queue_node, &adev->queue);
	adev->nr_queued--;
	if (job->shared)
		ai_share_leave(job);
}

/* A job that waits has a claim from now on. */
void ai_queue_claim(struct ai_device *adev, struct ai_job *job, s64 due_ns)
{
	lockdep_assert_held(&adev->lock);
	rb_erase_cached(&job->queue_node, &adev->queue);
	job->claimed = true;
	job->due_ns = due_ns;
	rb_add_cached(&job->queue_node, &adev->queue, ai_job_less);
}

static void ai_inflight_add(struct ai_device *adev, struct ai_job *job, ktime_t now)
{
	lockdep_assert_held(&adev->lock);
	if (!adev->nr_inflight++)
		adev->busy_since = now;
	list_add_tail(&job->inflight_node, &adev->inflight);
	job->state = AI_JOB_INFLIGHT;
	job->started = now;
}

static void ai_inflight_del(struct ai_device *adev, struct ai_job *job, ktime_t now)
{
	lockdep_assert_held(&adev->lock);
	list_del(&job->inflight_node);
	if (!--adev->nr_inflight)
		adev->busy_ns += ktime_to_ns(ktime_sub(now, adev->busy_since));
}

/*
 * It ran, only to say how much room its outputs take. A device without memory ends
 * jobs with -ENOSPC, too, and that is a failure.
 */
static bool ai_job_wants_room(struct ai_job *job)
{
	u32 i;

	if (job->result.error != -ENOSPC)
		return false;
	for (i = 0; i < job->nr_outputs; i++) {
		const struct ai_job_tensor *out = ai_job_output(job, i);

		if (out->needed > out->bytes)
			return true;
	}
	return false;
}

/* Under ai_device.lock: it is one of those that have a claim. */
void ai_job_count(struct ai_job *job)
{
	lockdep_assert_held(&job->adev->lock);
	job->counted = true;
	job->adev->nr_claimed_jobs++;
}

/* Under ai_device.lock: it is no longer one of those that have a claim. */
void ai_job_uncount(struct ai_job *job)
{
	struct ai_device *adev = job->adev;

	lockdep_assert_held(&adev->lock);
	if (!job->counted)
		return;
	job->counted = false;
	if (!--adev->nr_claimed_jobs)
		adev->claimed_idle++;
}

/* Under ai_device.lock; ai_job_finish() follows without it. */
static void ai_job_end(struct ai_job *job, const struct ai_job_result *result, ktime_t now)
{
	lockdep_assert_held(&job->adev->lock);
	job->state = AI_JOB_DONE;
	job->ended = now;
	job->result = *result;
	if (result->message)
		strscpy(job->message, result->message);
	job->result.message = job->message;
	job->late = job->deadline_ns && now > job->deadline_ns;
	job->generation = job->adev->generation;
	ai_job_uncount(job);
	if (!result->error)
		job->adev->jobs_done++;
	else if (!ai_job_wants_room(job))
		job->adev->jobs_failed++;
}

/* How long the device was busy with it: not while it waited behind another in flight. */
static void ai_job_measure(struct ai_job *job)
{
	struct ai_device *adev = job->adev;
	ktime_t begun = max(job->started, adev->last_end);

	lockdep_assert_held(&adev->lock);
	adev->last_end = job->ended;
	job->power_mw = adev->sampled_mw;
	job->service_ns = ktime_to_ns(ktime_sub(job->ended, begun));
	if (!job->result.error)
		job->model->longest_ns = max(job->model->longest_ns, job->service_ns);
}

static void ai_job_finish(struct ai_job *job)
{
	if (job->result.fault_va)
		trace_ai_fault(job);
	if (job->result.error && !ai_job_wants_room(job))
		ai_decision_job(job, job->result.error);
	if (job->contract)
		ai_contract_job_done(job);
	trace_ai_done(job);
	if (!job->result.error)
		atomic64_inc(&job->model->jobs);
	complete(&job->done);
	ai_job_put(job);
}

static void ai_job_end_queued(struct ai_job *job, int error, const char *message)
{
	struct ai_job_result result = { .error = error, .message = message };

	ai_job_end(job, &result, ktime_get());
}

/* Jobs that may be in flight. */
static u32 ai_sched_depth(const struct ai_device *adev)
{
	return adev->nr_claims ? min(adev->queue_depth, AI_ADMISSION_INFLIGHT) : adev->queue_depth;
}

/* The next job to give to the device, moved to those in flight, or NULL. */
static struct ai_job *ai_sched_next(struct ai_device *adev, struct ai_job **expired)
{
	struct rb_node *node;
	struct ai_job *job;
	ktime_t now;

	lockdep_assert_held(&adev->lock);
	*expired = NULL;
	if (adev->nr_inflight >= ai_sched_depth(adev) || adev->unplugged ||
	    adev->health > AI_HEALTH_THROTTLED)
		return NULL;
	ai_share_promote(adev, ktime_get());
	node = rb_first_cached(&adev->queue);
	if (!node)
		return NULL;

	job = rb_entry(node, struct ai_job, queue_node);
	/* One of them at most is in the way of whoever has a claim. */
	if (adev->nr_claims && adev->nr_inflight && !job->claimed)
		return NULL;
	ai_queue_del(adev, job);
	now = ktime_get();
	if (job->deadline_ns && now > job->deadline_ns) {
		ai_job_end_queued(job, -ETIME, "the deadline passed before the device was free");
		*expired = job;
		return NULL;
	}
	ai_inflight_add(adev, job, now);
	return job;
}

static void ai_sched_give(struct ai_device *adev, struct ai_job *job)
{
	int ret;

	/* It may be gone when submit() returns. */
	kref_get(&job->ref);
	trace_ai_start(job);
	ret = adev->ops->submit(adev, job);
	if (ret) {
		struct ai_job_result result = {
			.error = ret,
			.message = "the driver did not take the job",
		};

		ai_job_done(job, &result);
	}
	ai_job_put(job);
}

/**
 * ai_sched_kick() - give jobs to a device as long as it takes more
 * @adev: the device
 *
 * A device may end a job before submit() returns; what that lets in is given by
 * the call that is under way, so that the stack does not grow. When that is more
 * than its fair share, a worker goes on. Any context.
 */
void ai_sched_kick(struct ai_device *adev)
{
	unsigned int left = AI_SCHED_ROUNDS;
	struct ai_job *job, *expired;
	unsigned long flags;
	int idx;

	if (!ai_device_enter(adev, &idx))
		return;
	spin_lock_irqsave(&adev->lock, flags);
	if (adev->dispatching) {
		adev->dispatch_again = true;
		goto unlock;
	}
	adev->dispatching = true;
	for (;;) {
		if (!left--) {
			ai_device_get(adev);
			if (!queue_work(ai_kick_wq, &adev->kick_work))
				ai_device_put(adev);
			break;
		}
		adev->dispatch_again = false;
		job = ai_sched_next(adev, &expired);
		if (!job && !expired) {
			if (adev->dispatch_again)
				continue;
			break;
		}
		spin_unlock_irqrestore(&adev->lock, flags);
		if (expired)
			ai_job_finish(expired);
		else
			ai_sched_give(adev, job);
		spin_lock_irqsave(&adev->lock, flags);
	}
	adev->dispatching = false;
unlock:
	spin_unlock_irqrestore(&adev->lock, flags);
	ai_device_exit(adev, idx);
}

void ai_sched_kick_work(struct work_struct *work)
{
	struct ai_device *adev = container_of(work, struct ai_device, kick_work);

	ai_sched_kick(adev);
	ai_device_put(adev);
}

/**
 * ai_sched_submit() - queue a job
 * @job: new; the queue takes a reference of its own
 *
 * The job ends in any case, at once if the device is gone.
 */
void ai_sched_submit(struct ai_job *job)
{
	struct ai_device *adev = job->adev;
	unsigned long flags;
	bool gone;

	kref_get(&job->ref);
	spin_lock_irqsave(&adev->lock, flags);
	job->seq = ++adev->seq;
	job->submitted = ktime_get();
	gone = job->abort_error || adev->unplugged || adev->health == AI_HEALTH_FAILED;
	if (job->abort_error)
		ai_job_end_queued(job, job->abort_error, "it was ended before the device took it");
	else if (gone)
		ai_job_end_queued(job, -ENODEV, adev->unplugged ?
				  "the device was removed" :
				  "the device failed and could not be recovered");
	else
		ai_queue_add(adev, job);
	spin_unlock_irqrestore(&adev->lock, flags);

	trace_ai_submit(job);
	if (gone)
		ai_job_finish(job);
	else
		ai_sched_kick(adev);
}

void ai_job_done(struct ai_job *job, const struct ai_job_result *result)
{
	struct ai_device *adev = job->adev;
	unsigned long flags;
	ktime_t now;

	spin_lock_irqsave(&adev->lock, flags);
	if (WARN_ON_ONCE(job->state != AI_JOB_INFLIGHT)) {
		spin_unlock_irqrestore(&adev->lock, flags);
		return;
	}
	now = ktime_get();
	ai_inflight_del(adev, job, now);
	ai_job_end(job, result, now);
	ai_job_measure(job);
	spin_unlock_irqrestore(&adev->lock, flags);

	if (unlikely(READ_ONCE(adev->unplugged)))
		wake_up_all(&adev->ready);
	/* The device outlives the job's reference on it, see ai_job_finish(). */
	ai_device_get(adev);
	ai_job_finish(job);
	ai_sched_kick(adev);
	ai_device_put(adev);
}
EXPORT_SYMBOL_GPL(ai_job_done);

bool ai_job_overlaps(const struct ai_job *job)
{
	u32 i, j;

	for (i = 0; i < job->nr_inputs; i++) {
		const struct ai_job_tensor *in = &job->tensor[i];

		for (j = 0; j < job->nr_outputs; j++) {
			const struct ai_job_tensor *out = &job->tensor[job->nr_inputs + j];

			if (in->bytes && out->bytes && in->va < out->va + out->bytes &&
			    out->va < in->va + in->bytes)
				return true;
		}
	}
	return false;
}

void ai_job_requeue(struct ai_job *job)
{
	struct ai_device *adev = job->adev;
	struct ai_job_result result = {
		.error = -ECANCELED,
		.message = "a reset ended it, it cannot run again: outputs overlap inputs",
	};
	unsigned long flags;

	if (!ai_job_overlaps(job)) {
		spin_lock_irqsave(&adev->lock, flags);
		if (!job->abort_error && !adev->unplugged && adev->health != AI_HEALTH_FAILED) {
			ai_inflight_del(adev, job, ktime_get());
			job->rerun = true;
			ai_queue_add(adev, job);
			ai_decision_job(job, 0);
			spin_unlock_irqrestore(&adev->lock, flags);
			ai_sched_kick(adev);
			return;
		}
		result.error = job->abort_error ?: -ENODEV;
		result.message = job->abort_error ? "it was to be ended and a reset ended it" :
						    "the device went before it could run again";
		spin_unlock_irqrestore(&adev->lock, flags);
	}
	ai_job_done(job, &result);
}
EXPORT_SYMBOL_GPL(ai_job_requeue);

/**
 * ai_sched_abort() - end a job early
 * @job: the job; the caller has a reference
 * @error: why: what the job ends with
 *
 * A job that waits ends at once; one in flight when the driver has ended it.
 *
 * Return: false if it has ended already.
 */
bool ai_sched_abort(struct ai_job *job, int error)
{
	struct ai_device *adev = job->adev;
	unsigned long flags;
	int state, idx;

	spin_lock_irqsave(&adev->lock, flags);
	state = job->state;
	if (state == AI_JOB_QUEUED) {
		ai_queue_del(adev, job);
		ai_job_end_queued(job, error, "it was ended before the device took it");
	} else if (state != AI_JOB_DONE && !job->abort_error) {
		/* One that is new ends when it is submitted, in a moment. */
		job->abort_error = error;
	}
	spin_unlock_irqrestore(&adev->lock, flags);

	if (state == AI_JOB_QUEUED) {
		ai_job_finish(job);
	} else if (state == AI_JOB_INFLIGHT && ai_device_enter(adev, &idx)) {
		adev->ops->abort(adev, job);
		ai_device_exit(adev, idx);
	}
	return state != AI_JOB_DONE;
}

/* End all jobs that wait. Any context. */
void ai_sched_fail_queue(struct ai_device *adev, int error, const char *message)
{
	unsigned long flags;
	struct rb_node *node;
	struct ai_job *job;

	spin_lock_irqsave(&adev->lock, flags);
	while ((node = rb_first_cached(&adev->queue))) {
		job = rb_entry(node, struct ai_job, queue_node);
		ai_queue_del(adev, job);
		ai_job_end_queued(job, error, message);
		spin_unlock_irqrestore(&adev->lock, flags);
		ai_job_finish(job);
		spin_lock_irqsave(&adev->lock, flags);
	}
	spin_unlock_irqrestore(&adev->lock, flags);
}

/* The device goes: tell the driver to end every job it has. No new one comes. */
void ai_sched_abort_inflight(struct ai_device *adev)
{
	struct ai_job *job;
	unsigned long flags;

	for (;;) {
		bool found = false;

		spin_lock_irqsave(&adev->lock, flags);
		list_for_each_entry(job, &adev->inflight, inflight_node) {
			if (job->abort_error == -ENODEV)
				continue;
			job->abort_error = -ENODEV;
			kref_get(&job->ref);
			found = true;
			break;
		}
		spin_unlock_irqrestore(&adev->lock, flags);
		if (!found)
			return;
		adev->ops->abort(adev, job);
		ai_job_put(job);
	}
}
