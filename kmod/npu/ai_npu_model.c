// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models on the device. Compiling takes as long as it takes: the command is sent
 * and its completion handled when it comes, in a work item of its own.
 *
 * A model is WAITING until the device takes the command, LOADING until it
 * answers, REPORTING until ai.ko knows, then READY or FAILED. A stop of the
 * device turns LOADING into WAITING, the recovery READY too, and sends them
 * again; FAILED is the end.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "ai_npu.h"

/* Resets of the engine that end the compilation of one model before it fails. */
#define AI_NPU_MODEL_TRIES 3

/*
 * Time a compilation has to end when it is cancelled. The engine looks whether it
 * is between the steps of its work, which are short of a second for any model
 * that was tried; a machine that is short of processors takes longer.
 */
#define AI_NPU_CANCEL_MS 10000

static_assert(NPU_MAX_TENSORS == AI_MAX_TENSORS);
static_assert(NPU_MAX_DIMS == AI_MAX_DIMS);
static_assert(NPU_NAME_BYTES == AI_TENSOR_NAME_LEN);

/* Send it unless the device has enough to do, or is stopped. */
static void ai_npu_model_send(struct ai_npu_model *m)
{
	struct ai_npu *npu = m->npu;
	struct npu_cmd cmd = {
		.op = NPU_OP_MODEL_LOAD,
		.object = m->model->id,
		.arg = { m->map->va, m->model->bytes },
		.desc_addr = m->info_dma,
		.desc_bytes = sizeof(*m->info),
	};

	lockdep_assert_held(&npu->model_mutex);
	if (m->state != AI_NPU_MODEL_WAITING || m->unloading || m->sent ||
	    npu->loads == AI_NPU_LOADS || (npu->reloading && !m->was_ready))
		return;

	memset(m->info, 0, sizeof(*m->info));
	m->sent = true;
	m->state = AI_NPU_MODEL_LOADING;
	npu->loads++;
	if (ai_npu_queue_send(&npu->queue[NPU_QUEUE_CTRL], &m->request, &cmd)) {
		/* The watchdog or the recovery will. */
		m->sent = false;
		m->state = AI_NPU_MODEL_WAITING;
		npu->loads--;
		return;
	}
	m->order = npu->load_order++;
	m->since = jiffies;
	m->given_up = false;
	m->cancelled = false;
	m->compiling = false;
}

/* Nobody waits for the answer; that to the load is what counts. */
static void ai_npu_model_cancel(struct ai_npu_model *m)
{
	struct npu_cmd cmd = { .op = NPU_OP_MODEL_UNLOAD, .object = m->model->id };

	lockdep_assert_held(&m->npu->model_mutex);
	if (!m->cancelled && !ai_npu_queue_send(&m->npu->queue[NPU_QUEUE_CTRL], NULL, &cmd))
		m->cancelled = true;
}

/* The driver gives up on a model that waits or is being loaded. */
static void ai_npu_model_fail(struct ai_npu_model *m, int error, const char *reason)
{
	lockdep_assert_held(&m->npu->model_mutex);
	m->error = error;
	m->reason = reason;
	m->state = AI_NPU_MODEL_REPORTING;
	queue_work(system_unbound_wq, &m->report_work);
	if (m->sent) {
		m->given_up = true;
		m->given_up_at = jiffies;
		ai_npu_model_cancel(m);
	}
}

static void ai_npu_models_send(struct ai_npu *npu)
{
	struct ai_npu_model *m;

	lockdep_assert_held(&npu->model_mutex);
	list_for_each_entry(m, &npu->models, node)
		ai_npu_model_send(m);
}

/* The one the device is at: it compiles them in the order in which it was given them. */
static struct ai_npu_model *ai_npu_model_compiling(struct ai_npu *npu)
{
	struct ai_npu_model *m, *first = NULL;

	lockdep_assert_held(&npu->model_mutex);
	list_for_each_entry(m, &npu->models, node)
		if (m->sent && (!first || m->order < first->order))
			first = m;
	return first;
}

/* The device will not come to an end with it: it was reset, or stopped. */
static void ai_npu_model_interrupted(struct ai_npu_model *m, bool compiling, bool stopped)
{
	m->state = AI_NPU_MODEL_WAITING;
	m->tries += compiling;
	m->crashes += compiling && stopped;
	if (m->tries < AI_NPU_MODEL_TRIES || m->unloading)
		return;
	ai_npu_recovery_forgive(m->npu, m->crashes);
	ai_npu_model_fail(m, -EIO, "the device had to be reset each time it compiled the model");
}

static void ai_npu_model_done(struct ai_npu *npu, struct ai_npu_request *req,
			      const struct npu_cpl *cpl)
{
	struct ai_npu_model *m = container_of(req, struct ai_npu_model, request);

	mutex_lock(&npu->model_mutex);
	/* The others do not have more time because one behind them ends early. */
	if (ai_npu_model_compiling(npu) == m)
		npu->loads_since = jiffies;
	m->sent = false;
	npu->loads--;
	m->stops = atomic_read(&npu->stops);
	if (m->state == AI_NPU_MODEL_LOADING) {
		if (!cpl) {
			ai_npu_model_interrupted(m, m->compiling, true);
		} else if (cpl->status == NPU_ST_RESET) {
			ai_npu_model_interrupted(m, true, false);
		} else if (!m->unloading) {
			m->cpl = *cpl;
			m->state = AI_NPU_MODEL_REPORTING;
			queue_work(system_unbound_wq, &m->report_work);
		}
	}
	ai_npu_models_send(npu);
	mutex_unlock(&npu->model_mutex);
	/* From here on it may be gone. */
	wake_up_all(&npu->model_wait);
}

/* ---- what the device says of a model ---- */

static bool ai_npu_model_read_tensor(struct ai_tensor_info *to, const struct npu_tensor_info *from)
{
	u32 d;

	ai_npu_text(to->name, sizeof(to->name), from->name, sizeof(from->name));
	to->dtype = READ_ONCE(from->dtype);
	to->rank = READ_ONCE(from->rank);
	if (to->rank == NPU_RANK_ANY) {
		to->rank = AI_RANK_ANY;
		return true;
	}
	if (to->rank > AI_MAX_DIMS)
		return false;
	for (d = 0; d < to->rank; d++)
		to->dims[d] = READ_ONCE(from->dims[d]);
	return true;
}

static struct ai_tensor_info *ai_npu_model_read(struct ai_npu_model *m, u32 *nr_inputs,
						u32 *nr_outputs)
{
	struct npu_model_info *info = m->info;
	struct ai_npu *npu = m->npu;
	struct ai_tensor_info *io;
	u32 i;

	*nr_inputs = READ_ONCE(info->nr_inputs);
	*nr_outputs = READ_ONCE(info->nr_outputs);
	if (*nr_inputs > NPU_MAX_TENSORS || *nr_outputs > NPU_MAX_TENSORS) {
		if (ai_npu_fault(npu, AI_NPU_FAULT_MODEL))
			dev_warn(&npu->pdev->dev, "the device says that model %llu has %u inputs and %u outputs, the most is %u\n",
				 m->model->id, *nr_inputs, *nr_outputs, NPU_MAX_TENSORS);
		return ERR_PTR(-EIO);
	}
	io = kvcalloc(*nr_inputs + *nr_outputs + 1, sizeof(*io),
		      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!io)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < *nr_inputs + *nr_outputs; i++) {
		if (ai_npu_model_read_tensor(&io[i], &info->tensor[i]))
			continue;
		if (ai_npu_fault(npu, AI_NPU_FAULT_MODEL))
			dev_warn(&npu->pdev->dev, "the device says that tensor %u of model %llu has %u dimensions, the most is %u\n",
				 i, m->model->id, io[i].rank, AI_MAX_DIMS);
		kvfree(io);
		return ERR_PTR(-EIO);
	}
	return io;
}

static int ai_npu_model_error(u32 status)
{
	switch (status) {
	case NPU_ST_BAD_MODEL:
		return -EBADMSG;
	case NPU_ST_UNSUPPORTED:
		return -EOPNOTSUPP;
	case NPU_ST_NO_MEMORY:
		return -ENOSPC;
	case NPU_ST_ABORTED:
	case NPU_ST_RESET:
		return -ECANCELED;
	default:
		return -EIO;
	}
}

/* What the device answered; on success with the description of the model. */
static int ai_npu_model_result(struct ai_npu_model *m, struct ai_tensor_info **io,
			       u32 *nr_inputs, u32 *nr_outputs, char *reason, size_t bytes)
{
	u32 status = m->cpl.status;

	if (status != NPU_ST_OK) {
		ai_npu_text(reason, bytes, m->info->message, sizeof(m->info->message));
		if (!reason[0])
			strscpy(reason, ai_npu_status_name(status), bytes);
		return ai_npu_model_error(status);
	}
	*io = ai_npu_model_read(m, nr_inputs, nr_outputs);
	if (!IS_ERR(*io))
		return 0;
	strscpy(reason, PTR_ERR(*io) == -ENOMEM ?
		"the system has no memory for the description of the model" :
		"the device described the model in a way that cannot be", bytes);
	return PTR_ERR(*io);
}

/* Tell ai.ko, which may sleep, that a model is ready or failed. */
static void ai_npu_model_report(struct work_struct *work)
{
	struct ai_npu_model *m = container_of(work, struct ai_npu_model, report_work);
	struct ai_npu *npu = m->npu;
	struct ai_tensor_info *io;
	u32 nr_inputs, nr_outputs;
	char reason[AI_ERROR_LEN];
	int ret = m->error;

	if (ret)
		strscpy(reason, m->reason);
	else
		ret = ai_npu_model_result(m, &io, &nr_inputs, &nr_outputs, reason, sizeof(reason));
	if (ret)
		ai_model_loaded(m->model, ret, reason, NULL, 0, 0, 0, false);
	else
		ai_model_loaded(m->model, 0, NULL, io, nr_inputs, nr_outputs,
				READ_ONCE(m->info->compile_ns), m->cpl.flags & NPU_CPL_CACHED);

	mutex_lock(&npu->model_mutex);
	m->state = ret ? AI_NPU_MODEL_FAILED : AI_NPU_MODEL_READY;
	m->was_ready = !ret;
	m->tries = 0;
	m->crashes = 0;
	if (!ret && m->stops != atomic_read(&npu->stops)) {
		/* The device has forgotten it meanwhile. */
		m->state = AI_NPU_MODEL_WAITING;
		ai_npu_model_send(m);
	}
	mutex_unlock(&npu->model_mutex);
	wake_up_all(&npu->model_wait);
}

/* ---- operations of ai.ko ---- */

static struct ai_npu_model *ai_npu_model_alloc(struct ai_npu *npu, struct ai_model *model)
{
	struct ai_npu_model *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!m)
		return ERR_PTR(ret);
	m->npu = npu;
	m->model = model;
	m->request.done = ai_npu_model_done;
	INIT_WORK(&m->report_work, ai_npu_model_report);
	m->info = dma_alloc_coherent(&npu->pdev->dev, sizeof(*m->info), &m->info_dma, GFP_KERNEL);
	if (!m->info)
		goto free;
	m->map = ai_npu_mmu_map(npu, npu->own_as, model->artefact, ai_region_va(model->artefact),
				AI_PERM_READ);
	if (IS_ERR(m->map)) {
		ret = PTR_ERR(m->map);
		goto free_info;
	}
	return m;

free_info:
	dma_free_coherent(&npu->pdev->dev, sizeof(*m->info), m->info, m->info_dma);
free:
	kfree(m);
	return ERR_PTR(ret);
}

int ai_npu_model_load(struct ai_device *adev, struct ai_model *model)
{
	struct ai_npu *npu = adev->driver_data;
	struct ai_npu_model *m = ai_npu_model_alloc(npu, model);

	if (IS_ERR(m))
		return PTR_ERR(m);
	model->driver_data = m;
	mutex_lock(&npu->model_mutex);
	list_add_tail(&m->node, &npu->models);
	ai_npu_model_send(m);
	/* ai_npu_models_lost() may have come before it was in the list. */
	if (READ_ONCE(npu->lost) && m->state == AI_NPU_MODEL_WAITING)
		ai_npu_model_fail(m, -ENODEV, "the device failed before the model was ready");
	mutex_unlock(&npu->model_mutex);
	return 0;
}

/*
 * Like wait_event_timeout(), for conditions that take a mutex. Returns whether the
 * condition is true.
 */
static bool ai_npu_models_wait(struct ai_npu *npu, unsigned long timeout,
			       bool (*condition)(struct ai_npu *npu, struct ai_npu_model *m),
			       struct ai_npu_model *m)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long left = timeout;
	bool met;

	add_wait_queue(&npu->model_wait, &wait);
	while (!(met = condition(npu, m)) && left)
		left = wait_woken(&wait, TASK_UNINTERRUPTIBLE, left);
	remove_wait_queue(&npu->model_wait, &wait);
	return met;
}

static bool ai_npu_model_quiet(struct ai_npu *npu, struct ai_npu_model *m)
{
	bool quiet;

	mutex_lock(&npu->model_mutex);
	quiet = !m->sent;
	mutex_unlock(&npu->model_mutex);
	return quiet;
}

/* The device is stopped, so its load ends in a moment; if not, it is taken back. */
static void ai_npu_model_withdraw(struct ai_npu *npu, struct ai_npu_model *m)
{
	unsigned int timeout = ai_npu_timeout(&ai_npu_command_timeout_ms);

	if (ai_npu_models_wait(npu, msecs_to_jiffies(timeout), ai_npu_model_quiet, m))
		return;
	if (ai_npu_queue_abandon(&npu->queue[NPU_QUEUE_CTRL], &m->request)) {
		mutex_lock(&npu->model_mutex);
		m->sent = false;
		npu->loads--;
		mutex_unlock(&npu->model_mutex);
		return;
	}
	/* Somebody is in the call-back this moment. */
	while (!ai_npu_models_wait(npu, HZ, ai_npu_model_quiet, m))
		;
}

void ai_npu_model_unload(struct ai_device *adev, struct ai_model *model)
{
	struct ai_npu *npu = adev->driver_data;
	struct ai_npu_model *m = model->driver_data;
	struct npu_cmd cmd = { .op = NPU_OP_MODEL_UNLOAD, .object = model->id };
	int stops, ret;

	mutex_lock(&npu->model_mutex);
	m->unloading = true;
	mutex_unlock(&npu->model_mutex);

	/* The device may finish what it is compiling, be it another model, before it answers. */
	stops = atomic_read(&npu->stops);
	ret = ai_npu_command(npu, &cmd, stops, NULL, ai_npu_timeout(&ai_npu_model_timeout_ms));
	if (ret == -ENOENT || ret == -ESHUTDOWN)
		ret = 0;
	/* A load that was cancelled before ends before the device lets go of the artefact. */
	if (!ret && !ai_npu_models_wait(npu, msecs_to_jiffies(AI_NPU_CANCEL_MS),
					ai_npu_model_quiet, m))
		ret = -ETIME;
	if (ret) {
		ai_npu_recovery_wait_stop(npu, stops, "the device did not let go of a model");
		ai_npu_model_withdraw(npu, m);
	}
	cancel_work_sync(&m->report_work);

	/* The watchdog looks at all that are in the list, at all of each. */
	mutex_lock(&npu->model_mutex);
	list_del(&m->node);
	mutex_unlock(&npu->model_mutex);
	ai_npu_mmu_unmap(npu, m->map);
	dma_free_coherent(&npu->pdev->dev, sizeof(*m->info), m->info, m->info_dma);
	kfree(m);
}

/* ---- recovery and watchdog ---- */

static bool ai_npu_model_pending(const struct ai_npu_model *m)
{
	return !m->unloading && m->state <= AI_NPU_MODEL_LOADING;
}

static bool ai_npu_models_reported(struct ai_npu *npu, struct ai_npu_model *unused)
{
	struct ai_npu_model *m;
	bool found = false;

	mutex_lock(&npu->model_mutex);
	list_for_each_entry(m, &npu->models, node)
		found |= m->state == AI_NPU_MODEL_REPORTING;
	mutex_unlock(&npu->model_mutex);
	return !found;
}

/* Is every model that was ready before the device was stopped so again? */
static bool ai_npu_models_back(struct ai_npu *npu, struct ai_npu_model *unused)
{
	struct ai_npu_model *m;
	bool found = false;

	mutex_lock(&npu->model_mutex);
	list_for_each_entry(m, &npu->models, node)
		found |= m->was_ready && !m->unloading && m->state < AI_NPU_MODEL_READY;
	mutex_unlock(&npu->model_mutex);
	return !found;
}

/**
 * ai_npu_models_restore() - give a device that was just booted its models again
 * @npu: the device, with the control queue open
 *
 * Those that were ready before come first and are waited for. One that is not
 * again in time fails; that is no reason to reset the device once more.
 *
 * Return: 0, -EIO if the device died meanwhile.
 */
int ai_npu_models_restore(struct ai_npu *npu)
{
	unsigned int timeout = ai_npu_timeout(&ai_npu_reload_timeout_ms);
	unsigned long end = jiffies + msecs_to_jiffies(timeout);
	struct ai_npu_model *m;

	/* Let ai.ko hear what was before the reset, first. */
	ai_npu_models_wait(npu, HZ, ai_npu_models_reported, NULL);

	mutex_lock(&npu->model_mutex);
	list_for_each_entry(m, &npu->models, node)
		if (m->state == AI_NPU_MODEL_READY)
			m->state = AI_NPU_MODEL_WAITING;
	ai_npu_models_send(npu);
	mutex_unlock(&npu->model_mutex);

	while (!ai_npu_models_wait(npu, msecs_to_jiffies(AI_NPU_WATCHDOG_MS),
				   ai_npu_models_back, NULL)) {
		ai_npu_queue_poll(&npu->queue[NPU_QUEUE_CTRL]);
		if (!ai_npu_recovery_alive(npu))
			return -EIO;
		/* Somebody may be waiting for a stop to take the device away. */
		if (READ_ONCE(npu->removing))
			break;
		if (time_before(jiffies, end))
			continue;
		mutex_lock(&npu->model_mutex);
		list_for_each_entry(m, &npu->models, node) {
			if (!m->was_ready || !ai_npu_model_pending(m))
				continue;
			dev_warn(&npu->pdev->dev, "model %s was not ready again %u ms after the device was reset; it fails\n",
				 m->model->name, timeout);
			ai_npu_model_fail(m, -ETIME,
					  "the device was reset and did not make it ready again in time");
		}
		mutex_unlock(&npu->model_mutex);
	}

	mutex_lock(&npu->model_mutex);
	npu->reloading = false;
	ai_npu_models_send(npu);
	mutex_unlock(&npu->model_mutex);
	return 0;
}

/* The device has been stopped; what it had been given is about to be given back. */
void ai_npu_models_stopped(struct ai_npu *npu)
{
	struct ai_npu_model *m;

	mutex_lock(&npu->model_mutex);
	npu->reloading = true;
	m = ai_npu_model_compiling(npu);
	if (m)
		m->compiling = true;
	mutex_unlock(&npu->model_mutex);
}

/* The device is lost: what was to be loaded for the first time fails. */
void ai_npu_models_lost(struct ai_npu *npu)
{
	struct ai_npu_model *m;

	mutex_lock(&npu->model_mutex);
	list_for_each_entry(m, &npu->models, node)
		if (!m->was_ready && ai_npu_model_pending(m))
			ai_npu_model_fail(m, -ENODEV,
					  "the device failed before the model was ready");
	mutex_unlock(&npu->model_mutex);
}

/* From the watchdog: nothing waits for ever. */
void ai_npu_models_check(struct ai_npu *npu)
{
	unsigned long limit = msecs_to_jiffies(ai_npu_timeout(&ai_npu_model_timeout_ms));
	bool deaf = false;
	struct ai_npu_model *m;

	mutex_lock(&npu->model_mutex);
	m = ai_npu_model_compiling(npu);
	if (m && m->state == AI_NPU_MODEL_LOADING && !m->unloading &&
	    time_after(jiffies, m->since + limit) &&
	    time_after(jiffies, npu->loads_since + limit)) {
		dev_warn(&npu->pdev->dev, "model %s was not ready %u ms after the device began with it; it fails\n",
			 m->model->name, jiffies_to_msecs(limit));
		ai_npu_model_fail(m, -ETIME, "the device did not make it ready in time");
	}
	list_for_each_entry(m, &npu->models, node) {
		if (!m->sent || !m->given_up || m->unloading)
			continue;
		ai_npu_model_cancel(m); /* the queue may have been full */
		deaf |= time_after(jiffies, m->given_up_at + msecs_to_jiffies(AI_NPU_CANCEL_MS));
	}
	ai_npu_models_send(npu);
	mutex_unlock(&npu->model_mutex);
	if (deaf)
		ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, false,
					"the device did not stop compiling a model");
}
