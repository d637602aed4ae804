// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: noticing that the device does not work, and the ladder of resets.
 *
 *	job		the job is told to end; ai_npu_job_abort()
 *	engine		the tensor engine is reset, jobs that run end
 *	firmware	the firmware is restarted: everything is built up again
 *	power		the slot is power-cycled, then as above
 *	lost		the device is cut off from the bus and given up
 *
 * A rung that does not help in its time is followed by the next. The job that is
 * to blame ends with an error, the others run again.
 */
#include <linux/stdarg.h>

#include "ai_npu.h"

/* Full recoveries within that many seconds that make a device lost: one more than recent[]. */
#define AI_NPU_RATE_SECONDS 60

const char *ai_npu_rung_name(enum ai_npu_rung rung)
{
	static const char * const names[] = {
		[AI_NPU_RUNG_JOB] = "job abort",
		[AI_NPU_RUNG_ENGINE] = "engine reset",
		[AI_NPU_RUNG_FIRMWARE] = "firmware restart",
		[AI_NPU_RUNG_POWER] = "power cycle",
		[AI_NPU_RUNG_LOST] = "giving up",
	};

	return names[rung];
}

static unsigned int ai_npu_rung_ms(enum ai_npu_rung rung)
{
	switch (rung) {
	case AI_NPU_RUNG_JOB:
		return ai_npu_timeout(&ai_npu_abort_timeout_ms);
	case AI_NPU_RUNG_ENGINE:
		return ai_npu_timeout(&ai_npu_engine_reset_timeout_ms);
	case AI_NPU_RUNG_FIRMWARE:
		return ai_npu_timeout(&ai_npu_firmware_restart_timeout_ms);
	case AI_NPU_RUNG_POWER:
		return ai_npu_timeout(&ai_npu_power_cycle_timeout_ms);
	default:
		return 0;
	}
}

/*
 * The longest it takes until the device is stopped one way or another, even if it
 * is just being given its address spaces and models.
 */
unsigned int ai_npu_ladder_ms(void)
{
	unsigned int ms = 3 * ai_npu_timeout(&ai_npu_command_timeout_ms) +
			  ai_npu_timeout(&ai_npu_reload_timeout_ms);
	enum ai_npu_rung rung;

	for (rung = AI_NPU_RUNG_ENGINE; rung < AI_NPU_RUNG_LOST; rung++)
		ms += ai_npu_rung_ms(rung);
	return ms;
}

/* ---- asking for a recovery ---- */

/* Returns a ticket: the recovery that serves it has run when @finished reaches it. */
static u32 ai_npu_recovery_ask(struct ai_npu *npu, enum ai_npu_rung rung, bool blame, bool manual,
			       const char *reason)
{
	struct ai_npu_recovery *r = &npu->recovery;
	unsigned long flags;
	u32 ticket;
	int stops;

	spin_lock_irqsave(&r->lock, flags);
	stops = atomic_read(&npu->stops);
	if (!r->pending || r->stops != stops) {
		r->wanted = rung;
		r->blame = blame;
		strscpy(r->reason, reason);
	} else {
		/* One recovery serves both, if it is thorough enough. */
		r->wanted = max(r->wanted, rung);
	}
	r->manual = manual || (r->pending && r->manual);
	WRITE_ONCE(r->pending, true);
	r->stops = stops;
	ticket = ++r->asked;
	if (r->started)
		queue_work(r->wq, &r->work);
	spin_unlock_irqrestore(&r->lock, flags);
	return ticket;
}

/**
 * ai_npu_recovery_request() - have the device reset
 * @npu: the device
 * @rung: where to begin
 * @blame: what the device was working on is to blame
 * @fmt: clause on what happened: a sentence without its full stop
 *
 * Any context. Moot if the device is stopped before it comes to it.
 */
void ai_npu_recovery_request(struct ai_npu *npu, enum ai_npu_rung rung, bool blame,
			     const char *fmt, ...)
{
	char reason[AI_NPU_REASON_BYTES];
	va_list args;

	va_start(args, fmt);
	vscnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	ai_npu_recovery_ask(npu, rung, blame, false, reason);
}

/**
 * ai_npu_recovery_wait_stop() - have a device that does not answer stopped
 * @npu: the device
 * @stops: &ai_npu.stops before it was asked
 * @why: clause on what it did not answer
 *
 * When it returns the device has been stopped since, or is cut off from the bus.
 * Must not be called from the recovery workqueue.
 */
void ai_npu_recovery_wait_stop(struct ai_npu *npu, int stops, const char *why)
{
	if (atomic_read(&npu->stops) != stops)
		return;
	ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, false, "%s", why);
	if (wait_event_timeout(npu->stop_wait, atomic_read(&npu->stops) != stops,
			       msecs_to_jiffies(2 * ai_npu_ladder_ms())))
		return;
	/* The ladder is bounded, so this is not reached; but the promise is kept. */
	dev_crit(&npu->pdev->dev, "the device could not be stopped within %u ms; it is taken off the bus\n",
		 2 * ai_npu_ladder_ms());
	ai_npu_hw_cut_off(npu);
}

/* ---- the rungs ---- */

static bool ai_npu_recovery_no_abort(struct ai_npu *npu)
{
	return !ai_npu_jobs_aborting(npu, false);
}

static int ai_npu_rung_engine(struct ai_npu *npu)
{
	unsigned int ms = ai_npu_rung_ms(AI_NPU_RUNG_ENGINE);
	struct npu_cmd cmd = { .op = NPU_OP_ENGINE_RESET };
	int ret;

	ai_npu_jobs_excuse(npu, true);
	ret = ai_npu_command(npu, &cmd, atomic_read(&npu->stops), NULL, ms * 2 / 3);
	/* A firmware that does not answer need not mean that the engine is stuck too. */
	if (ret == -ETIME)
		ret = ai_npu_hw_reset(npu, NPU_RESET_ENGINE, ms / 3);
	if (!ret && !wait_event_timeout(npu->job_wait, ai_npu_recovery_no_abort(npu),
					msecs_to_jiffies(ms / 3)))
		ret = -ETIME;
	ai_npu_jobs_excuse(npu, false);
	return ret;
}

/* Stop the device and build everything up again, within the time of the rung. */
static int ai_npu_rung_full(struct ai_npu *npu, enum ai_npu_rung rung)
{
	unsigned int ms = ai_npu_rung_ms(rung);
	int ret;

	if (rung == AI_NPU_RUNG_POWER)
		ret = ai_npu_hw_power_cycle(npu, ms / 2);
	else
		ret = ai_npu_hw_to_rom(npu, ms / 2);
	if (ret)
		return ret;
	ai_npu_queues_stopped(npu);

	/* Not before: one that was lost may go on with memory that was given back. */
	pci_set_master(npu->pdev);
	ret = ai_npu_fw_boot(npu, ms / 2);
	if (!ret)
		ret = ai_npu_mmu_restore(npu);
	return ret;
}

/* ---- the recovery ---- */

struct ai_npu_recovery_run {
	enum ai_npu_rung rung;
	bool blame;
	bool manual;
	ktime_t begin;
	u32 ticket;
	char reason[AI_NPU_REASON_BYTES];
};

static bool ai_npu_recovery_take(struct ai_npu *npu, struct ai_npu_recovery_run *run)
{
	struct ai_npu_recovery *r = &npu->recovery;
	bool wanted;

	spin_lock_irq(&r->lock);
	wanted = r->pending && (r->manual || r->stops == atomic_read(&npu->stops));
	run->rung = r->wanted;
	run->blame = r->blame;
	run->manual = r->manual;
	strscpy(run->reason, r->reason);
	run->ticket = r->asked;
	WRITE_ONCE(r->pending, false);
	spin_unlock_irq(&r->lock);
	run->begin = ktime_get();
	return wanted && (run->manual || !READ_ONCE(npu->lost));
}

static bool ai_npu_recovery_too_often(struct ai_npu *npu)
{
	struct ai_npu_recovery *r = &npu->recovery;
	ktime_t now = ktime_get();
	bool often;

	spin_lock_irq(&r->lock);
	often = r->recent[r->recent_next] &&
		ktime_before(now, ktime_add_ms(r->recent[r->recent_next],
					       AI_NPU_RATE_SECONDS * MSEC_PER_SEC));
	if (!often) {
		r->recent[r->recent_next] = now;
		r->recent_next = (r->recent_next + 1) % ARRAY_SIZE(r->recent);
	}
	spin_unlock_irq(&r->lock);
	return often;
}

/**
 * ai_npu_recovery_forgive() - a job or a model was to blame, not the device
 * @npu: the device
 * @count: the latest full recoveries that do not speak against the device
 *
 * Otherwise one caller whose work the device cannot do would take it from all.
 */
void ai_npu_recovery_forgive(struct ai_npu *npu, u32 count)
{
	struct ai_npu_recovery *r = &npu->recovery;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	while (count--) {
		r->recent_next = (r->recent_next ?: ARRAY_SIZE(r->recent)) - 1;
		r->recent[r->recent_next] = 0;
	}
	spin_unlock_irqrestore(&r->lock, flags);
}

static void ai_npu_recovery_health(struct ai_npu *npu)
{
	struct ai_sensors sensors = {};

	ai_npu_hw_sensors(npu, &sensors);
	ai_device_report(npu->adev, &sensors);
	ai_device_set_health(npu->adev, sensors.throttled ? AI_HEALTH_THROTTLED : AI_HEALTH_OK);
}

static void ai_npu_recovery_lost(struct ai_npu *npu, const struct ai_npu_recovery_run *run,
				 const char *why)
{
	WRITE_ONCE(npu->lost, true);
	ai_npu_queues_close(npu);
	/* It may run all the same; what it works on is about to be given back. */
	if (!READ_ONCE(npu->gone) &&
	    ai_npu_hw_to_rom(npu, ai_npu_rung_ms(AI_NPU_RUNG_FIRMWARE) / 2))
		ai_npu_hw_power_cycle(npu, ai_npu_rung_ms(AI_NPU_RUNG_POWER) / 2);
	ai_npu_hw_cut_off(npu);
	ai_npu_queues_stopped(npu);
	ai_device_new_generation(npu->adev);
	atomic_inc(&npu->recovery.count[AI_NPU_RUNG_LOST]);
	dev_err(&npu->pdev->dev, "the device is lost: %s, and %s; it is cut off from the bus, %s\n",
		run->reason, why, READ_ONCE(npu->gone) ?
		"put it back and have the bus scanned again" :
		"write 1 to ai_npu/reset in its sysfs folder or bind it again to try once more");
	ai_device_set_health(npu->adev, AI_HEALTH_FAILED);
	ai_npu_jobs_end_guilty(npu, AI_NPU_RUNG_LOST, 0, run->reason);
	ai_npu_models_lost(npu);
}

/* The reset of the engine leaves firmware, address spaces and models as they are. */
static bool ai_npu_recovery_engine(struct ai_npu *npu, struct ai_npu_recovery_run *run)
{
	ktime_t begin = ktime_get();
	int ret = ai_npu_rung_engine(npu);
	s64 ms = ktime_ms_delta(ktime_get(), begin);

	if (ret) {
		dev_warn(&npu->pdev->dev, "%s: engine reset has not helped after %lld ms (error %d), firmware restart is next\n",
			 run->reason, ms, ret);
		return false;
	}
	atomic_inc(&npu->recovery.count[AI_NPU_RUNG_ENGINE]);
	dev_warn(&npu->pdev->dev, "%s: recovered by engine reset in %lld ms\n", run->reason, ms);
	return true;
}

static bool ai_npu_recovery_full(struct ai_npu *npu, struct ai_npu_recovery_run *run)
{
	enum ai_npu_rung rung = max(run->rung, AI_NPU_RUNG_FIRMWARE);
	int ret = -ENODEV;
	s64 ms;

	ai_npu_queues_close(npu);
	for (; rung < AI_NPU_RUNG_LOST && !READ_ONCE(npu->gone); rung++) {
		ktime_t begin = ktime_get();

		ret = ai_npu_rung_full(npu, rung);
		ms = ktime_ms_delta(ktime_get(), begin);
		if (!ret) {
			npu->recovery.heartbeat_missed = 0;
			/* The rest can take longer, and is not what the guilty waits for. */
			ai_npu_jobs_end_guilty(npu, rung, ktime_ms_delta(ktime_get(), run->begin),
					       run->reason);
			ret = ai_npu_models_restore(npu);
		}
		if (!ret)
			break;
		dev_warn(&npu->pdev->dev, "%s: %s has not helped after %lld ms (error %d), %s is next\n",
			 run->reason, ai_npu_rung_name(rung), ms, ret, ai_npu_rung_name(rung + 1));
		ai_npu_queues_close(npu);
	}
	if (ret || READ_ONCE(npu->gone))
		return false;

	ai_device_new_generation(npu->adev);
	ai_npu_queue_set(&npu->queue[NPU_QUEUE_JOB], AI_NPU_OPEN);
	atomic_inc(&npu->recovery.count[rung]);
	dev_warn(&npu->pdev->dev, "%s: recovered by %s in %lld ms, ready again after %lld ms\n",
		 run->reason, ai_npu_rung_name(rung), ms,
		 ktime_ms_delta(ktime_get(), run->begin));
	return true;
}

static void ai_npu_recovery_run(struct ai_npu *npu, struct ai_npu_recovery_run *run)
{
	u32 caused;

	/*
	 * Before a queue is closed: ai.ko would give back at once, and without end,
	 * the jobs that are returned to it.
	 */
	ai_device_set_health(npu->adev, AI_HEALTH_RECOVERING);
	if (!ai_npu_hw_present(npu))
		WRITE_ONCE(npu->gone, true);
	if (!run->manual)
		ai_device_dump(npu->adev, run->reason);
	if (READ_ONCE(npu->gone)) {
		ai_npu_recovery_lost(npu, run, "it is not in its slot any more");
		return;
	}

	if (run->manual) {
		ai_npu_recovery_forgive(npu, ARRAY_SIZE(npu->recovery.recent));
		WRITE_ONCE(npu->lost, false);
	}
	if (run->rung == AI_NPU_RUNG_ENGINE && ai_npu_recovery_engine(npu, run)) {
		ai_npu_recovery_health(npu);
		return;
	}
	caused = ai_npu_jobs_blame(npu, run->blame);
	if (caused) {
		ai_npu_recovery_forgive(npu, caused - 1);
	} else if (ai_npu_recovery_too_often(npu)) {
		ai_npu_recovery_lost(npu, run,
				     "it was recovered as often as a minute allows");
		return;
	}
	if (!ai_npu_recovery_full(npu, run)) {
		ai_npu_recovery_lost(npu, run, "no reset has helped");
		return;
	}
	npu->recovery.heartbeat_missed = 0;
	ai_npu_recovery_health(npu);
}

static void ai_npu_recovery_work(struct work_struct *work)
{
	struct ai_npu *npu = container_of(work, struct ai_npu, recovery.work);
	struct ai_npu_recovery_run run;
	bool wanted;

	wanted = ai_npu_recovery_take(npu, &run);
	if (wanted) {
		ai_npu_recovery_run(npu, &run);
		/* It ends when the device is lost. */
		if (!READ_ONCE(npu->lost))
			queue_delayed_work(npu->recovery.wq, &npu->recovery.watchdog_work,
					   msecs_to_jiffies(AI_NPU_WATCHDOG_MS));
	} else if (!READ_ONCE(npu->lost)) {
		/* Events that came since it was asked for have left that to it. */
		ai_npu_recovery_health(npu);
	}
	WRITE_ONCE(npu->recovery.finished, run.ticket);
	wake_up_all(&npu->recovery.idle);
}

/* ---- what leads to a recovery ---- */

/**
 * ai_npu_recovery_alive() - one look at the heartbeat
 * @npu: the device
 *
 * To be called every %AI_NPU_WATCHDOG_MS, from the recovery workqueue. What
 * counts is looks without change, not time: when this system itself stood still
 * for a while, as virtual machines do, the device is not to blame.
 *
 * Return: false if the firmware does not run, or its heart has stood still for
 * too many looks.
 */
bool ai_npu_recovery_alive(struct ai_npu *npu)
{
	struct ai_npu_recovery *r = &npu->recovery;
	u32 limit = DIV_ROUND_UP(ai_npu_timeout(&ai_npu_heartbeat_timeout_ms), AI_NPU_WATCHDOG_MS);
	u32 beat = ai_npu_read32(npu, heartbeat);

	if (ai_npu_hw_state(npu) != NPU_STATE_RUNNING)
		return false;
	if (beat != r->heartbeat) {
		r->heartbeat = beat;
		r->heartbeat_missed = 0;
		return true;
	}
	return ++r->heartbeat_missed < limit;
}

/* The state of the device is not what it is while it works. */
static void ai_npu_recovery_bad_state(struct ai_npu *npu, u32 state)
{
	char text[AI_NPU_REASON_BYTES];

	if (!ai_npu_hw_present(npu)) {
		ai_npu_recovery_gone(npu);
	} else if (!ai_npu_hw_readable(npu)) {
		ai_npu_recovery_request(npu, AI_NPU_RUNG_POWER, false,
					"the device's registers cannot be read");
	} else if (state == NPU_STATE_CRASHED) {
		ai_npu_hw_crash_text(npu, text, sizeof(text));
		ai_npu_log_last(npu);
		ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, true, "%s", text);
	} else if (state == NPU_STATE_OFF) {
		ai_npu_recovery_request(npu, AI_NPU_RUNG_POWER, false, "the device lost its power");
	} else {
		ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, false, "the device is %s",
					ai_npu_hw_state_name(state));
	}
}

static void ai_npu_watchdog(struct work_struct *work)
{
	struct ai_npu *npu = container_of(to_delayed_work(work), struct ai_npu,
					  recovery.watchdog_work);
	struct ai_npu_recovery *r = &npu->recovery;
	u32 state;

	if (READ_ONCE(npu->lost))
		return;
	state = ai_npu_hw_state(npu);
	if (state != NPU_STATE_RUNNING || !ai_npu_hw_readable(npu))
		ai_npu_recovery_bad_state(npu, state);
	else if (!ai_npu_recovery_alive(npu))
		ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, true,
					"the firmware stopped working (no heartbeat for %u ms)",
					r->heartbeat_missed * AI_NPU_WATCHDOG_MS);
	ai_npu_models_check(npu);
	queue_delayed_work(r->wq, &r->watchdog_work, msecs_to_jiffies(AI_NPU_WATCHDOG_MS));
}

static void ai_npu_abort_escalate(struct work_struct *work)
{
	struct ai_npu *npu = container_of(to_delayed_work(work), struct ai_npu,
					  recovery.abort_work);

	/* An interrupt may have been lost. */
	ai_npu_queue_poll(&npu->queue[NPU_QUEUE_JOB]);
	if (ai_npu_jobs_aborting(npu, true))
		ai_npu_recovery_request(npu, AI_NPU_RUNG_ENGINE, false,
					"a job did not stop within %u ms of being told to",
					ai_npu_rung_ms(AI_NPU_RUNG_JOB));
	else if (ai_npu_jobs_aborting(npu, false))
		/* It was told to end later than the one this was for. */
		queue_delayed_work(npu->recovery.wq, &npu->recovery.abort_work,
				   msecs_to_jiffies(ai_npu_rung_ms(AI_NPU_RUNG_JOB)) / 4 + 1);
}

/* A job was told to end: see later whether it has. */
void ai_npu_recovery_expect_abort(struct ai_npu *npu)
{
	queue_delayed_work(npu->recovery.wq, &npu->recovery.abort_work,
			   msecs_to_jiffies(ai_npu_rung_ms(AI_NPU_RUNG_JOB)) + 1);
}

static void ai_npu_event(struct work_struct *work)
{
	struct ai_npu *npu = container_of(work, struct ai_npu, recovery.event_work);
	struct ai_npu_recovery *r = &npu->recovery;
	struct ai_sensors sensors = {};
	u32 ecc, state;

	if (READ_ONCE(npu->lost))
		return;
	state = ai_npu_hw_state(npu);
	if (state != NPU_STATE_RUNNING) {
		ai_npu_recovery_bad_state(npu, state);
		return;
	}

	ecc = ai_npu_read32(npu, ecc_errors);
	if (ecc > r->ecc_errors)
		dev_warn_ratelimited(&npu->pdev->dev, "the device corrected memory errors: %u now, %u since it was powered on\n",
				     ecc - r->ecc_errors, ecc);
	r->ecc_errors = ecc;

	ai_npu_hw_sensors(npu, &sensors);
	if (sensors.throttled != r->throttled) {
		r->throttled = sensors.throttled;
		if (sensors.throttled)
			dev_warn_ratelimited(&npu->pdev->dev, "the device lowered its clock to %u MHz at %d C, its limit is %d C\n",
					     sensors.clock_mhz, sensors.temp_mc / 1000,
					     npu->adev->temp_throttle_mc / 1000);
		else
			dev_info_ratelimited(&npu->pdev->dev, "the device is back at full clock at %d C\n",
					     sensors.temp_mc / 1000);
	}
	/* One that the bus has just reset may look as if it worked. */
	if (!READ_ONCE(r->pending))
		ai_npu_recovery_health(npu);
	ai_npu_hwmon_update(npu);
}

/* The device has something to say. Any context. */
void ai_npu_recovery_event(struct ai_npu *npu)
{
	if (READ_ONCE(npu->recovery.started))
		queue_work(npu->recovery.wq, &npu->recovery.event_work);
}

/* The device is not in its slot any more. Any context. */
void ai_npu_recovery_gone(struct ai_npu *npu)
{
	WRITE_ONCE(npu->gone, true);
	ai_npu_recovery_request(npu, AI_NPU_RUNG_LOST, false,
				"the device does not answer on the bus");
}

/**
 * ai_npu_recovery_manual() - reset the device because the administrator wants it
 * @npu: the device, lost or not
 *
 * Return: 0, -EIO if it did not come back, -EINTR, -ETIME.
 */
int ai_npu_recovery_manual(struct ai_npu *npu)
{
	struct ai_npu_recovery *r = &npu->recovery;
	u32 ticket;
	long left;

	ticket = ai_npu_recovery_ask(npu, AI_NPU_RUNG_POWER, false, true,
				     "a reset was asked for in sysfs");
	left = wait_event_interruptible_timeout(r->idle,
						(s32)(READ_ONCE(r->finished) - ticket) >= 0,
						msecs_to_jiffies(2 * ai_npu_ladder_ms()));
	if (left < 0)
		return -EINTR;
	if (!left)
		return -ETIME;
	return READ_ONCE(npu->lost) ? -EIO : 0;
}

/* ---- resets by the bus ---- */

static void ai_npu_recovery_sit_out(struct work_struct *work)
{
	struct ai_npu_recovery *r = container_of(work, struct ai_npu_recovery, pause_work);

	complete(&r->paused);
	wait_for_completion(&r->resume);
}

/**
 * ai_npu_recovery_pause() - let the bus reset the device
 * @npu: the device
 *
 * While that lasts nothing can be read, which must not be taken for a fault. What
 * runs on the workqueue ends before this returns, and waits afterwards.
 */
void ai_npu_recovery_pause(struct ai_npu *npu)
{
	struct ai_npu_recovery *r = &npu->recovery;

	/* The last pause may not have seen yet that it is over. */
	flush_work(&r->pause_work);
	reinit_completion(&r->paused);
	reinit_completion(&r->resume);
	queue_work(r->wq, &r->pause_work);
	wait_for_completion(&r->paused);
	/* Its memory does not take what is written, either. */
	if (!READ_ONCE(npu->lost))
		ai_device_set_health(npu->adev, AI_HEALTH_RECOVERING);
}

/* The bus has reset the device: nothing is known of its state. */
void ai_npu_recovery_resume(struct ai_npu *npu)
{
	ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, false,
				"the bus has reset the device");
	complete(&npu->recovery.resume);
}

/* ---- life ---- */

int ai_npu_recovery_init(struct ai_npu *npu)
{
	struct ai_npu_recovery *r = &npu->recovery;

	spin_lock_init(&r->lock);
	init_waitqueue_head(&r->idle);
	INIT_WORK(&r->work, ai_npu_recovery_work);
	INIT_DELAYED_WORK(&r->watchdog_work, ai_npu_watchdog);
	INIT_DELAYED_WORK(&r->abort_work, ai_npu_abort_escalate);
	INIT_WORK(&r->event_work, ai_npu_event);
	INIT_WORK(&r->pause_work, ai_npu_recovery_sit_out);
	init_completion(&r->paused);
	init_completion(&r->resume);
	r->wq = alloc_ordered_workqueue(AI_NPU_NAME "-%s", WQ_MEM_RECLAIM, pci_name(npu->pdev));
	return r->wq ? 0 : -ENOMEM;
}

/* From here on faults are acted on; before, probing sees to them itself. */
void ai_npu_recovery_start(struct ai_npu *npu)
{
	struct ai_npu_recovery *r = &npu->recovery;

	r->heartbeat = ai_npu_read32(npu, heartbeat);
	r->ecc_errors = ai_npu_read32(npu, ecc_errors);
	spin_lock_irq(&r->lock);
	WRITE_ONCE(r->started, true);
	spin_unlock_irq(&r->lock);
	queue_delayed_work(r->wq, &r->watchdog_work, msecs_to_jiffies(AI_NPU_WATCHDOG_MS));
}

/* When it returns nothing resets the device any more but the caller. */
void ai_npu_recovery_stop(struct ai_npu *npu)
{
	struct ai_npu_recovery *r = &npu->recovery;

	spin_lock_irq(&r->lock);
	WRITE_ONCE(r->started, false);
	spin_unlock_irq(&r->lock);
	disable_delayed_work_sync(&r->watchdog_work);
	disable_delayed_work_sync(&r->abort_work);
	disable_work_sync(&r->event_work);
	disable_work_sync(&r->work);
}

void ai_npu_recovery_fini(struct ai_npu *npu)
{
	destroy_workqueue(npu->recovery.wq);
}
