// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a software device does with models and jobs.
 *
 * A model is a text: the line "ai-sim-model 1", then lines of
 *
 *	in NAME DTYPE DIM...	an input; a DIM of -1 is the caller's choice
 *	out NAME DTYPE DIM...	an output; a DIM of -1 is that of the first input
 *				(* for DIM...: of any rank, or as the first input)
 *	op null|copy		null (default) touches no data, copy copies input i
 *				to output i where the sizes are equal and clears
 *				the output where they are not
 *	compile_ms N		time the model takes to get ready, at most 60000
 */
#include <linux/ctype.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "ai_sim.h"

#define AI_SIM_HEAD "ai-sim-model 1\n"
#define AI_SIM_MAX_TEXT SZ_64K
#define AI_SIM_MAX_COMPILE_MS 60000

enum ai_sim_op {
	AI_SIM_NULL,
	AI_SIM_COPY,
};

struct ai_sim_model {
	struct ai_model *model;
	struct delayed_work load;
	ktime_t begun;
	enum ai_sim_op op;
	u32 compile_ms;
	u32 nr_inputs, nr_outputs;
	struct ai_tensor_info io[2 * AI_MAX_TENSORS]; /* inputs first once loaded */
	char reason[AI_ERROR_LEN];
};

/* ---- models ---- */

static __printf(2, 3) int ai_sim_refuse(struct ai_sim_model *sm, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(sm->reason, sizeof(sm->reason), fmt, args);
	va_end(args);
	return -EBADMSG;
}

static int ai_sim_parse_tensor(struct ai_sim_model *sm, char *rest, struct ai_tensor_info *info)
{
	char *word = strsep(&rest, " ");

	if (!word || !*word || strlen(word) >= AI_TENSOR_NAME_LEN)
		return ai_sim_refuse(sm, "a tensor has no name or one too long");
	strscpy(info->name, word);
	word = strsep(&rest, " ");
	if (!word || kstrtou32(word, 10, &info->dtype))
		return ai_sim_refuse(sm, "tensor '%s' has no data type", info->name);
	if (rest && !strcmp(rest, "*")) {
		info->rank = AI_RANK_ANY;
		return 0;
	}
	while ((word = strsep(&rest, " "))) {
		if (info->rank == AI_MAX_DIMS)
			return ai_sim_refuse(sm, "tensor '%s' has more than %u dimensions",
					     info->name, AI_MAX_DIMS);
		if (kstrtos64(word, 10, &info->dims[info->rank++]))
			return ai_sim_refuse(sm, "tensor '%s' has a size that is no number: %.20s",
					     info->name, word);
	}
	return 0;
}

static int ai_sim_parse_line(struct ai_sim_model *sm, char *line)
{
	char *word = strsep(&line, " ");
	struct ai_tensor_info *info;
	bool input = !strcmp(word, "in");

	if (!*word)
		return 0;
	if (input || !strcmp(word, "out")) {
		u32 *count = input ? &sm->nr_inputs : &sm->nr_outputs;

		if (*count == AI_MAX_TENSORS)
			return ai_sim_refuse(sm, "more than %u tensors of one kind",
					     AI_MAX_TENSORS);
		/* Outputs are gathered behind all the inputs there can be. */
		info = &sm->io[(input ? 0 : AI_MAX_TENSORS) + (*count)++];
		return ai_sim_parse_tensor(sm, line, info);
	}
	if (!strcmp(word, "op") && line && !strcmp(line, "null")) {
		sm->op = AI_SIM_NULL;
		return 0;
	}
	if (!strcmp(word, "op") && line && !strcmp(line, "copy")) {
		sm->op = AI_SIM_COPY;
		return 0;
	}
	if (!strcmp(word, "compile_ms") && line && !kstrtou32(line, 10, &sm->compile_ms) &&
	    sm->compile_ms <= AI_SIM_MAX_COMPILE_MS)
		return 0;
	return ai_sim_refuse(sm, "it has a line that is not known: %.40s", word);
}

static int ai_sim_parse(struct ai_sim_model *sm, char *text, size_t length)
{
	size_t head = strlen(AI_SIM_HEAD);
	char *line, *rest;
	int ret;

	if (length < head || memcmp(text, AI_SIM_HEAD, head))
		return ai_sim_refuse(sm,
				     "the artefact is not a model of ai_sim, which begins with the line ai-sim-model 1");
	if (length != strlen(text))
		return ai_sim_refuse(sm, "the artefact has a NUL byte at %zu", strlen(text));

	rest = text + head;
	while ((line = strsep(&rest, "\n"))) {
		ret = ai_sim_parse_line(sm, line);
		if (ret)
			return ret;
	}
	if (!sm->nr_outputs)
		return ai_sim_refuse(sm, "the model has no output");
	return 0;
}

static int ai_sim_read(struct ai_sim_model *sm)
{
	struct ai_model *model = sm->model;
	void *artefact;
	char *text;
	int ret;

	if (model->bytes > AI_SIM_MAX_TEXT)
		return ai_sim_refuse(sm,
				     "the artefact has %llu bytes, a model of ai_sim at most %u",
				     model->bytes, AI_SIM_MAX_TEXT);
	text = kvmalloc(model->bytes + 1, GFP_KERNEL | __GFP_NOWARN);
	artefact = ai_region_vmap(model->artefact);
	if (text && artefact) {
		memcpy(text, artefact, model->bytes);
		text[model->bytes] = '\0';
		ret = ai_sim_parse(sm, text, model->bytes);
	} else {
		ai_sim_refuse(sm, "the system has no memory to read the artefact");
		ret = -ENOMEM;
	}
	if (artefact)
		ai_region_vunmap(model->artefact, artefact);
	kvfree(text);
	return ret;
}

static void ai_sim_load_work(struct work_struct *work)
{
	struct ai_sim_model *sm = container_of(to_delayed_work(work), struct ai_sim_model, load);
	u32 count = sm->nr_inputs + sm->nr_outputs;
	struct ai_tensor_info *io = NULL;
	u64 elapsed = ktime_to_ns(ktime_sub(ktime_get(), sm->begun));
	int error = sm->reason[0] ? -EBADMSG : 0;

	if (!error) {
		io = kmemdup_array(sm->io, count, sizeof(*io), GFP_KERNEL);
		if (!io) {
			error = -ENOMEM;
			strscpy(sm->reason, "the system has no memory to describe the model");
		}
	}
	ai_model_loaded(sm->model, error, sm->reason, io, sm->nr_inputs, sm->nr_outputs, elapsed,
			false);
}

static int ai_sim_model_load(struct ai_device *adev, struct ai_model *model)
{
	struct ai_sim_model *sm = kvzalloc(sizeof(*sm), GFP_KERNEL | __GFP_NOWARN);
	int ret;

	if (!sm)
		return -ENOMEM;
	sm->model = model;
	sm->begun = ktime_get();
	ret = ai_sim_read(sm);
	if (ret && ret != -EBADMSG) {
		kvfree(sm);
		return ret;
	}
	memmove(&sm->io[sm->nr_inputs], &sm->io[AI_MAX_TENSORS],
		sm->nr_outputs * sizeof(sm->io[0]));
	model->driver_data = sm;
	INIT_DELAYED_WORK(&sm->load, ai_sim_load_work);
	queue_delayed_work(system_unbound_wq, &sm->load, msecs_to_jiffies(sm->compile_ms));
	return 0;
}

static void ai_sim_model_unload(struct ai_device *adev, struct ai_model *model)
{
	struct ai_sim_model *sm = model->driver_data;

	cancel_delayed_work_sync(&sm->load);
	kvfree(sm);
	model->driver_data = NULL;
}

/* ---- jobs ---- */

/* What the model leaves open is as with the first input. */
static void ai_sim_shape(const struct ai_sim_model *sm, const struct ai_job *job,
			 const struct ai_tensor_info *info, struct ai_job_tensor *out)
{
	u32 given = sm->nr_inputs ? job->tensor[0].rank : 0;
	bool any = info->rank == AI_RANK_ANY;
	u32 d;

	out->rank = any ? given : info->rank;
	for (d = 0; d < out->rank; d++) {
		if (!any && info->dims[d] >= 0)
			out->dims[d] = info->dims[d];
		else
			out->dims[d] = d < given ? job->tensor[0].dims[d] : 1;
	}
}

/* The shapes of the outputs; false if one does not fit, with all sizes set. */
static bool ai_sim_shapes(struct ai_sim_model *sm, struct ai_job *job)
{
	bool fits = true;
	u32 i, d;

	for (i = 0; i < sm->nr_outputs; i++) {
		const struct ai_tensor_info *info = &sm->io[sm->nr_inputs + i];
		struct ai_job_tensor *out = ai_job_output(job, i);
		u64 bytes = info->dtype == AI_DTYPE_STRING ? sizeof(u64) :
							     ai_dtype_bytes(info->dtype);

		out->dtype = info->dtype;
		ai_sim_shape(sm, job, info, out);
		for (d = 0; d < out->rank; d++)
			bytes = size_mul(bytes, out->dims[d]);
		if (info->dtype == AI_DTYPE_STRING)
			bytes = size_add(bytes, sizeof(u64));
		out->needed = bytes;
		fits &= bytes <= out->bytes;
	}
	return fits;
}

static int ai_sim_copy_one(struct ai_job_tensor *from, struct ai_job_tensor *to)
{
	void *source = NULL, *target;
	int ret = -ENOMEM;

	if (!to->needed)
		return 0;
	target = ai_region_vmap(to->region);
	if (!target)
		return ret;
	if (from && from->bytes == to->needed) {
		source = ai_region_vmap(from->region);
		if (source) {
			memmove(target + to->offset, source + from->offset, to->needed);
			ai_region_vunmap(from->region, source);
			ret = 0;
		}
	} else {
		memset(target + to->offset, 0, to->needed);
		ret = 0;
	}
	ai_region_vunmap(to->region, target);
	return ret;
}

static void ai_sim_end(struct ai_job *job, int error, const char *message, u64 copied)
{
	struct ai_sim *sim = job->adev->driver_data;
	struct ai_job_result result = {
		.error = error,
		.message = message,
		.bytes_cpu = copied,
		.throttled = READ_ONCE(sim->thermal.throttled),
	};

	ai_job_done(job, &result);
}

static void ai_sim_copy_work(struct work_struct *work)
{
	struct ai_sim_slot *slot = container_of(work, struct ai_sim_slot, work);
	struct ai_job *job = slot->copying;
	u64 copied = 0;
	int ret = 0;
	u32 i;

	for (i = 0; i < job->nr_outputs && !ret; i++) {
		ret = ai_sim_copy_one(i < job->nr_inputs ? &job->tensor[i] : NULL,
				      ai_job_output(job, i));
		if (!ret)
			copied += ai_job_output(job, i)->needed;
	}
	spin_lock_irq(&slot->sim->lock);
	slot->copying = NULL;
	slot->busy = false;
	spin_unlock_irq(&slot->sim->lock);
	ai_sim_end(job, ret, "the system has no memory to map the tensors", copied);
}

/* The job's time is over. Its slot is free when ai_job_done() lets the next one in. */
static void ai_sim_complete(struct ai_sim_slot *slot, struct ai_job *job)
{
	struct ai_sim_model *sm = job->model->driver_data;
	struct ai_sim *sim = slot->sim;
	bool fits = ai_sim_shapes(sm, job);
	bool fail = ai_sim_take_fail();
	unsigned long flags;

	if (fits && !fail && sm->op == AI_SIM_COPY) {
		slot->copying = job;
		queue_work(system_unbound_wq, &slot->work);
		return;
	}
	spin_lock_irqsave(&sim->lock, flags);
	slot->busy = false;
	spin_unlock_irqrestore(&sim->lock, flags);
	if (!fits)
		ai_sim_end(job, -ENOSPC, "an output needs more bytes than there is room for", 0);
	else if (fail)
		ai_sim_end(job, -EIO, "told to fail by the module parameter fail", 0);
	else
		ai_sim_end(job, 0, NULL, 0);
}

static enum hrtimer_restart ai_sim_timer(struct hrtimer *timer)
{
	struct ai_sim_slot *slot = container_of(timer, struct ai_sim_slot, timer);
	unsigned long flags;
	struct ai_job *job;

	spin_lock_irqsave(&slot->sim->lock, flags);
	job = slot->job;
	slot->job = NULL;
	spin_unlock_irqrestore(&slot->sim->lock, flags);
	/* NULL: aborted meanwhile. */
	if (job)
		ai_sim_complete(slot, job);
	return HRTIMER_NORESTART;
}

static struct ai_sim_slot *ai_sim_slot_take(struct ai_sim *sim)
{
	u32 i;

	lockdep_assert_held(&sim->lock);
	for (i = 0; i < sim->adev->queue_depth; i++) {
		if (!sim->slots[i].busy) {
			sim->slots[i].busy = true;
			return &sim->slots[i];
		}
	}
	return NULL;
}

static int ai_sim_submit(struct ai_device *adev, struct ai_job *job)
{
	struct ai_sim *sim = adev->driver_data;
	bool hang = ai_sim_take_hang();
	struct ai_sim_slot *slot;
	unsigned long flags;
	bool now = false;
	u64 latency;
	int aborted;

	spin_lock_irqsave(&sim->lock, flags);
	/* ai_sim_abort() has not found it in a slot then. */
	aborted = READ_ONCE(job->abort_error);
	if (aborted) {
		spin_unlock_irqrestore(&sim->lock, flags);
		ai_sim_end(job, aborted, "it was aborted", 0);
		return 0;
	}
	slot = ai_sim_slot_take(sim);
	if (WARN_ON_ONCE(!slot)) {
		spin_unlock_irqrestore(&sim->lock, flags);
		return -EBUSY;
	}
	latency = sim->latency_ns << sim->thermal.throttled;
	if (hang) {
		slot->job = job;
	} else if (latency) {
		ktime_t at = ktime_get();

		if (ktime_after(sim->free_at, at))
			at = sim->free_at;
		sim->free_at = ktime_add_ns(at, latency);
		ai_sim_thermal_run(sim, latency);
		slot->job = job;
		hrtimer_start(&slot->timer, sim->free_at, HRTIMER_MODE_ABS_SOFT);
	} else {
		now = true;
	}
	spin_unlock_irqrestore(&sim->lock, flags);

	if (now)
		ai_sim_complete(slot, job);
	return 0;
}

static void ai_sim_abort(struct ai_device *adev, struct ai_job *job)
{
	struct ai_sim *sim = adev->driver_data;
	struct ai_sim_slot *slot = NULL;
	u32 i;

	spin_lock_irq(&sim->lock);
	for (i = 0; i < adev->queue_depth; i++) {
		if (sim->slots[i].job == job) {
			slot = &sim->slots[i];
			slot->job = NULL;
			slot->busy = false;
			/* A timer that runs already finds no job or the next one's too early. */
			hrtimer_try_to_cancel(&slot->timer);
			break;
		}
	}
	spin_unlock_irq(&sim->lock);
	/* Else it has ended, or ends in a moment by itself. */
	if (slot)
		ai_sim_end(job, job->abort_error, "it was aborted", 0);
}

const struct ai_device_ops ai_sim_ops = {
	.model_load = ai_sim_model_load,
	.model_unload = ai_sim_model_unload,
	.submit = ai_sim_submit,
	.abort = ai_sim_abort,
	.sensors = ai_sim_sensors,
	.dump_driver = ai_sim_dump_driver,
};

void ai_sim_engine_init(struct ai_sim *sim)
{
	u32 i;

	for (i = 0; i < sim->adev->queue_depth; i++) {
		struct ai_sim_slot *slot = &sim->slots[i];

		slot->sim = sim;
		hrtimer_init(&slot->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
		slot->timer.function = ai_sim_timer;
		INIT_WORK(&slot->work, ai_sim_copy_work);
	}
}

/* After unplugging: no job is left, but a timer may be on its way out. */
void ai_sim_engine_exit(struct ai_sim *sim)
{
	u32 i;

	for (i = 0; i < sim->adev->queue_depth; i++) {
		hrtimer_cancel(&sim->slots[i].timer);
		cancel_work_sync(&sim->slots[i].work);
	}
}
