// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens to a device and concerns the contracts on it: that it is lost, that it
 * slows itself down. Noticed in any context, told by a worker, since there may be many
 * to tell.
 */
#include "ai_contract.h"

/* A device that slows itself down is looked at so often, to see when that ends. */
#define AI_WATCH_MS 100

static void ai_watch_tell(struct ai_device *adev, const struct ai_event *event)
{
	struct ai_contract *contract;
	u32 round;

	spin_lock_irq(&adev->lock);
	round = ++adev->watch.round;
	/* Who was told goes to the end, so that the lock is held for one at a time. */
	for (;;) {
		contract = list_first_entry_or_null(&adev->contracts, struct ai_contract,
						    device_node);
		if (!contract || contract->told == round)
			break;
		contract->told = round;
		list_move_tail(&contract->device_node, &adev->contracts);
		kref_get(&contract->ref);
		spin_unlock_irq(&adev->lock);
		ai_sla_event(contract, event);
		ai_contract_put(contract);
		cond_resched();
		spin_lock_irq(&adev->lock);
	}
	spin_unlock_irq(&adev->lock);
}

static void ai_watch_tell_unthrottled(struct ai_device *adev, u64 throttled_ns)
{
	struct ai_event event = { .kind = AI_EVENT_UNTHROTTLED, .found = throttled_ns };

	ai_watch_tell(adev, &event);
	adev->watch.told_throttled = false;
}

static void ai_watch_tell_all(struct ai_device *adev)
{
	const struct ai_event lost = { .kind = AI_EVENT_DEVICE_LOST, .term = AI_TERM_DEVICE };
	struct ai_event throttled = { .kind = AI_EVENT_THROTTLED };
	struct ai_watch *watch = &adev->watch, now;

	spin_lock_irq(&adev->lock);
	now = *watch;
	spin_unlock_irq(&adev->lock);

	if (now.lost && !watch->told_lost) {
		ai_watch_tell(adev, &lost);
		watch->told_lost = true;
	}
	if (watch->told_throttled && (!now.throttled || now.throttles != watch->told_throttles))
		ai_watch_tell_unthrottled(adev, now.throttled_ns);
	if (now.throttles != watch->told_throttles) {
		throttled.found = max(now.temp_mc, 0);
		throttled.limit = max(adev->temp_throttle_mc, 0);
		ai_watch_tell(adev, &throttled);
		watch->told_throttles = now.throttles;
		watch->told_throttled = true;
		if (!now.throttled)
			ai_watch_tell_unthrottled(adev, now.throttled_ns);
	}
}

static void ai_watch_work(struct work_struct *work)
{
	struct ai_device *adev = container_of(to_delayed_work(work), struct ai_device, watch.work);
	struct ai_sensors sensors;

	if (READ_ONCE(adev->watch.throttled))
		ai_device_read_sensors(adev, &sensors);
	ai_watch_tell_all(adev);
	spin_lock_irq(&adev->lock);
	if (adev->watch.throttled && !adev->unplugged)
		queue_delayed_work(ai_wq, &adev->watch.work, msecs_to_jiffies(AI_WATCH_MS));
	spin_unlock_irq(&adev->lock);
}

void ai_watch_init(struct ai_device *adev)
{
	INIT_DELAYED_WORK(&adev->watch.work, ai_watch_work);
}

/* The device has failed for good. Any context. */
void ai_watch_lost(struct ai_device *adev)
{
	unsigned long flags;

	spin_lock_irqsave(&adev->lock, flags);
	adev->watch.lost = true;
	if (!adev->unplugged)
		mod_delayed_work(ai_wq, &adev->watch.work, 0);
	spin_unlock_irqrestore(&adev->lock, flags);
}

/* Nothing is told from now on. */
void ai_watch_stop(struct ai_device *adev)
{
	spin_lock_irq(&adev->lock);
	WRITE_ONCE(adev->unplugged, true);
	adev->watch.lost = true;
	spin_unlock_irq(&adev->lock);
	cancel_delayed_work_sync(&adev->watch.work);
}

/* The device is being unplugged: all are told of that when this returns. */
void ai_watch_end(struct ai_device *adev)
{
	ai_watch_stop(adev);
	ai_watch_tell_all(adev);
}

void ai_device_report(struct ai_device *adev, const struct ai_sensors *sensors)
{
	struct ai_watch *watch = &adev->watch;
	ktime_t now = ktime_get();
	unsigned long flags;

	spin_lock_irqsave(&adev->lock, flags);
	adev->sampled_mw = sensors->power_mw;
	adev->sampled_at = now;
	if (sensors->throttled == watch->throttled || adev->unplugged)
		goto unlock;
	watch->throttled = sensors->throttled;
	if (watch->throttled) {
		watch->throttles++;
		watch->throttled_at = now;
		watch->temp_mc = sensors->temp_mc;
	} else {
		watch->throttled_ns = ktime_to_ns(now) - watch->throttled_at;
	}
	mod_delayed_work(ai_wq, &watch->work, 0);
unlock:
	spin_unlock_irqrestore(&adev->lock, flags);
}
EXPORT_SYMBOL_GPL(ai_device_report);
