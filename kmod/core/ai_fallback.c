// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fallback: requests of one model go to another, on another device, after three
 * running broke a term or failed there, and one of them is tried on the contract's
 * device now and then. Those of a critical contract go at once when the device does
 * not work, and the one that it was working on follows.
 */
#include "ai_contract.h"

/* Requests running that broke a term or failed, after which the others go elsewhere. */
#define AI_FALLBACK_BREACHES 3

/* ---- whether it can stand in ---- */

/* Whoever calls one must be able to call the other with the same tensors. */
static int ai_fallback_same_io(struct ai_call *call, const struct ai_model *model,
			       const struct ai_model *fallback)
{
	u32 i;

	if (model->nr_inputs != fallback->nr_inputs || model->nr_outputs != fallback->nr_outputs)
		return ai_fail(call, -EINVAL,
			       "fallback_model (%s) has %u inputs and %u outputs, model (%s) has %u and %u",
			       fallback->name, fallback->nr_inputs, fallback->nr_outputs,
			       model->name, model->nr_inputs, model->nr_outputs);
	for (i = 0; i < model->nr_inputs + model->nr_outputs; i++) {
		const struct ai_tensor_info *a = &model->io[i], *b = &fallback->io[i];

		if (a->dtype == b->dtype && a->rank == b->rank &&
		    !memcmp(a->dims, b->dims, sizeof(a->dims)))
			continue;
		return ai_fail(call, -EINVAL,
			       "%s '%s' of fallback_model (%s) has another type or shape than '%s' of model (%s)",
			       i < model->nr_inputs ? "input" : "output", b->name, fallback->name,
			       a->name, model->name);
	}
	return 0;
}

static int ai_fallback_not_precise(struct ai_call *call, const struct ai_model *model, u32 needed)
{
	return ai_fail(call, -EINVAL,
		       "precision of model %s is %u (0: not said), at least %u is needed",
		       model->name, model->precision, needed);
}

/* Whether a request of @model is as precise as the terms want. */
int ai_fallback_precision(struct ai_call *call, const struct ai_contract *contract,
			  const struct ai_model *model)
{
	const struct ai_terms *terms = &contract->terms;

	if (model == contract->fallback || model->precision >= terms->precision)
		return 0;
	return ai_fallback_not_precise(call, model, terms->precision);
}

/**
 * ai_fallback_check() - find the models of the terms
 * @call: the call
 * @contract: new, with its device
 *
 * The contract has references to them from now on.
 *
 * Return: 0 or why they cannot be.
 */
int ai_fallback_check(struct ai_call *call, struct ai_contract *contract)
{
	const struct ai_terms *terms = &contract->terms;
	struct ai_model *model, *fallback;
	int ret;

	if (!terms->model)
		return 0;
	model = ai_model_lookup(call, terms->model);
	if (IS_ERR(model))
		return PTR_ERR(model);
	contract->model = model;
	if (model->adev != contract->adev)
		return ai_fail(call, -EINVAL, "model is %u (%s), which is on %s and not on %s",
			       terms->model, model->name, dev_name(&model->adev->dev),
			       dev_name(&contract->adev->dev));
	ret = ai_fallback_precision(call, contract, model);
	if (ret || !terms->fallback_model)
		return ret;

	fallback = ai_model_lookup(call, terms->fallback_model);
	if (IS_ERR(fallback))
		return PTR_ERR(fallback);
	contract->fallback = fallback;
	if (fallback->adev == contract->adev)
		return ai_fail(call, -EINVAL,
			       "fallback_model is %u (%s), which is on %s like model, it must be on another device",
			       terms->fallback_model, fallback->name,
			       dev_name(&fallback->adev->dev));
	ret = ai_model_ready(call, model, terms->model);
	if (!ret)
		ret = ai_model_ready(call, fallback, terms->fallback_model);
	if (!ret)
		ret = ai_fallback_same_io(call, model, fallback);
	if (!ret && !(terms->flags & AI_TERMS_DEGRADE) &&
	    fallback->precision < max(model->precision, terms->precision))
		ret = ai_fallback_not_precise(call, fallback,
					      max(model->precision, terms->precision));
	return ret;
}

/* ---- going and coming back ---- */

/* Under the lock of the record; ai_sla_wake() follows. */
static void ai_fallback_move(struct ai_contract *contract, const struct ai_event *why,
			     u64 stay_ns)
{
	struct ai_event event = *why;

	lockdep_assert_held(&contract->sla.lock);
	event.kind = AI_EVENT_FALLBACK;
	event.other = contract->fallback->adev->id;
	contract->sla.moved = event.term;
	contract->sla.moved_until = ktime_get_ns() + stay_ns;
	contract->sla.breaches = 0;
	ai_sla_note(contract, &event);
}

static void ai_fallback_breach(struct ai_contract *contract)
{
	struct ai_sla *sla = &contract->sla;

	lockdep_assert_held(&sla->lock);
	if (++sla->breaches < AI_FALLBACK_BREACHES)
		return;
	sla->breach.jobs = sla->breaches;
	ai_fallback_move(contract, &sla->breach, contract->terms.fuse_ns);
}

static bool ai_fallback_allowed(const struct ai_contract *contract, const struct ai_model *model)
{
	return contract->fallback && model == contract->model &&
	       contract->terms.fallback != AI_FALLBACK_FORBID;
}

/**
 * ai_fallback_route() - which model a request goes to
 * @call: the call
 * @contract: the contract
 * @model: what the caller asked for; it has a reference
 * @moved: set to why it is the fallback, or 0
 *
 * Return: the model, without a reference of its own, or -ENODEV.
 */
struct ai_model *ai_fallback_route(struct ai_call *call, struct ai_contract *contract,
				   struct ai_model *model, u32 *moved)
{
	struct ai_sla *sla = &contract->sla;
	bool present, usable;
	u64 before;

	*moved = 0;
	if (!ai_fallback_allowed(contract, model))
		return model;
	present = ai_device_present(contract->adev);
	usable = present && READ_ONCE(contract->adev->health) <= AI_HEALTH_THROTTLED;

	spin_lock_irq(&sla->lock);
	before = sla->sequence;
	if (!sla->moved && !usable && contract->terms.flags & AI_TERMS_CRITICAL) {
		/* For as long as it does not work, and not longer. */
		ai_fallback_move(contract, &(struct ai_event){ .term = AI_TERM_DEVICE }, 0);
	} else if (!sla->moved && !present) {
		/* It would fail, perhaps before it counts as a request. */
		sla->counts.failed++;
		sla->breach = (struct ai_event){ .term = AI_TERM_DEVICE, .found = ENODEV };
		ai_sla_note(contract, &(struct ai_event){
			.kind = AI_EVENT_FAILED,
			.term = AI_TERM_DEVICE,
			.found = ENODEV,
		});
		ai_fallback_breach(contract);
		model = ERR_PTR(-ENODEV);
	}
	if (!IS_ERR(model) && sla->moved &&
	    (!usable || sla->trial || (s64)ktime_get_ns() < sla->moved_until)) {
		*moved = sla->moved;
		model = contract->fallback;
	}
	before = sla->sequence - before;
	spin_unlock_irq(&sla->lock);
	if (before)
		ai_sla_wake(contract);
	if (IS_ERR(model))
		ai_fail(call, -ENODEV, "%s of contract %llu (%s) failed or was removed",
			dev_name(&contract->adev->dev), contract->id, contract->name);
	return model;
}

/**
 * ai_fallback_again() - which model a request goes to that its device has failed
 * @contract: the contract
 * @job: the request, which has ended or was not begun
 * @error: of the call
 * @moved: set to why
 *
 * Return: the model, without a reference of its own, or NULL: it has failed.
 */
struct ai_model *ai_fallback_again(struct ai_contract *contract, struct ai_job *job, int error,
				   u32 *moved)
{
	if (job->moved || !(contract->terms.flags & AI_TERMS_CRITICAL) ||
	    !ai_fallback_allowed(contract, job->model) || ai_job_overlaps(job))
		return NULL;
	if (job->waited_for ? !job->result.error || ai_job_own_fault(job) :
			      error != -ENODEV || ai_device_present(contract->adev))
		return NULL;
	*moved = AI_TERM_DEVICE;
	return contract->fallback;
}

/* A request begins on the contract's device; under the lock of the record. */
void ai_fallback_begin(struct ai_contract *contract, struct ai_job *job)
{
	struct ai_sla *sla = &contract->sla;

	lockdep_assert_held(&sla->lock);
	if (!sla->moved || sla->trial || job->model != contract->model)
		return;
	sla->trial = true;
	job->trial = true;
}

/* The trial tells nothing: the next request is one. */
void ai_fallback_no_trial(struct ai_contract *contract, const struct ai_job *job)
{
	lockdep_assert_held(&contract->sla.lock);
	if (job->trial)
		contract->sla.trial = false;
}

/* A request has ended, well or not; under the lock of the record. */
void ai_fallback_judge(struct ai_contract *contract, const struct ai_job *job, bool good)
{
	struct ai_sla *sla = &contract->sla;

	lockdep_assert_held(&sla->lock);
	if (!ai_fallback_allowed(contract, job->model))
		return;
	ai_fallback_no_trial(contract, job);
	if (!sla->moved) {
		if (good)
			sla->breaches = 0;
		else
			ai_fallback_breach(contract);
	} else if (job->trial && good) {
		sla->moved = 0;
		ai_sla_note(contract, &(struct ai_event){
			.kind = AI_EVENT_RETURNED,
			.job = job->id,
			.other = contract->fallback->adev->id,
		});
	} else if (job->trial) {
		sla->moved_until = ktime_get_ns() + contract->terms.fuse_ns;
	}
}
