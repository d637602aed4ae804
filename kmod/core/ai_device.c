// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device registry: numbers, names, health, removal.
 */
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ai_admission.h"
#include "ai_internal.h"

static DEFINE_XARRAY(ai_devices);
static DEFINE_MUTEX(ai_devices_lock); /* @ai_devices, @ai_numbers */
/* Taken until the name is free again too, which is later than a device can be found. */
static DECLARE_BITMAP(ai_numbers, AI_MAX_DEVICES);

/* How long unplugging waits for a driver to end the jobs it was told to abort. */
#define AI_UNPLUG_TIMEOUT_MS 30000

/**
 * ai_device_enter() - begin to use a device
 * @adev: the device
 * @idx: for ai_device_exit()
 *
 * Return: false if it has been unplugged; else unplugging waits for
 * ai_device_exit().
 */
bool ai_device_enter(struct ai_device *adev, int *idx)
{
	*idx = srcu_read_lock(&adev->unplug_srcu);
	if (!READ_ONCE(adev->unplugged)) {
		/* For sparse, which knows no conditional locks. */
		__release(&adev->unplug_srcu);
		return true;
	}
	srcu_read_unlock(&adev->unplug_srcu, *idx);
	return false;
}

void ai_device_exit(struct ai_device *adev, int idx)
{
	__acquire(&adev->unplug_srcu);
	srcu_read_unlock(&adev->unplug_srcu, idx);
}

const char *ai_class_name(enum ai_class class)
{
	static const char * const names[] = { "cpu", "gpu", "npu", "fpga" };

	return names[class];
}

const char *ai_health_name(enum ai_health health)
{
	static const char * const names[] = { "ok", "throttled", "recovering", "failed" };

	return names[health];
}

static void ai_device_release(struct device *dev)
{
	struct ai_device *adev = container_of(dev, struct ai_device, dev);

	if (adev->buddy_ready)
		gpu_buddy_fini(&adev->buddy);
	ai_device_free_ghosts(adev);
	kvfree(adev->admission);
	ai_decisions_free(adev->decisions);
	mutex_destroy(&adev->mem_lock);
	mutex_destroy(&adev->objects_lock);
	mutex_destroy(&adev->claims_lock);
	cleanup_srcu_struct(&adev->unplug_srcu);
	kfree(adev);
}

/**
 * ai_device_alloc() - make a device that is not registered yet
 * @parent: what it is part of; may be NULL
 *
 * Return: the device with one reference, to be dropped with ai_device_put(), or
 * NULL.
 */
struct ai_device *ai_device_alloc(struct device *parent)
{
	struct ai_device *adev = kzalloc(sizeof(*adev), GFP_KERNEL);

	if (!adev)
		return NULL;
	adev->decisions = ai_decisions_alloc();
	if (!adev->decisions || init_srcu_struct(&adev->unplug_srcu)) {
		ai_decisions_free(adev->decisions);
		kfree(adev);
		return NULL;
	}

	spin_lock_init(&adev->lock);
	adev->queue = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&adev->inflight);
	init_waitqueue_head(&adev->ready);
	INIT_WORK(&adev->kick_work, ai_sched_kick_work);
	mutex_init(&adev->claims_lock);
	INIT_LIST_HEAD(&adev->contracts);
	adev->shares = RB_ROOT_CACHED;
	ai_watch_init(adev);
	INIT_LIST_HEAD(&adev->ghosts);
	mutex_init(&adev->objects_lock);
	INIT_LIST_HEAD(&adev->as_list);
	INIT_LIST_HEAD(&adev->models);
	mutex_init(&adev->mem_lock);

	device_initialize(&adev->dev);
	adev->dev.class = &ai_class;
	adev->dev.parent = parent;
	adev->dev.release = ai_device_release;
	adev->dev.groups = ai_device_groups;
	return adev;
}
EXPORT_SYMBOL_GPL(ai_device_alloc);

static int ai_device_number(struct ai_device *adev)
{
	/* Device 0 is the system. */
	u32 first = AI_DEVICE(adev->class, adev->class == AI_CLASS_CPU);
	u32 last = AI_DEVICE(adev->class, 63);
	u32 id;

	id = find_next_zero_bit(ai_numbers, last + 1, first);
	if (id > last)
		return -ENOSPC;
	__set_bit(id, ai_numbers);
	adev->id = id;
	return dev_set_name(&adev->dev, "%s%u", ai_class_name(adev->class),
			    AI_DEVICE_NUMBER(id));
}

static bool ai_device_valid(const struct ai_device *adev)
{
	const struct ai_device_ops *ops = adev->ops;

	return adev->owner && ops && adev->class <= AI_CLASS_FPGA && adev->queue_depth &&
	       !(adev->mem_bytes & ~PAGE_MASK) && !(adev->mem_phys & ~PAGE_MASK) &&
	       adev->mem_bytes >> PAGE_SHIFT < AI_GPT_MAX_PAGES &&
	       !!ops->as_create == !!ops->as_map &&
	       (!(adev->properties & AI_DEVICE_F_MODELS) ||
		(ops->model_load && ops->model_unload && ops->submit && ops->abort));
}

/**
 * ai_device_register() - make a device known
 * @adev: from ai_device_alloc(), with the driver's fields filled in
 *
 * It may be used before this returns.
 *
 * Return: 0, -EINVAL, -ENOMEM, -ENOSPC when 64 devices of the class exist.
 */
int ai_device_register(struct ai_device *adev)
{
	int ret;

	if (WARN_ON(!ai_device_valid(adev)))
		return -EINVAL;
	if (!adev->job_timeout_ms)
		adev->job_timeout_ms = AI_DEFAULT_JOB_TIMEOUT_MS;
	if (adev->mem_bytes) {
		ret = gpu_buddy_init(&adev->buddy, adev->mem_bytes, PAGE_SIZE);
		if (ret)
			return ret;
		adev->buddy_ready = true;
	}
	if (adev->properties & AI_DEVICE_F_MODELS) {
		adev->admission = kvzalloc(sizeof(*adev->admission), GFP_KERNEL);
		if (!adev->admission)
			return -ENOMEM;
	}

	mutex_lock(&ai_devices_lock);
	ret = ai_device_number(adev);
	if (ret == -ENOSPC)
		goto unlock;
	if (!ret)
		ret = device_add(&adev->dev);
	if (ret)
		goto free_number;
	ret = xa_err(xa_store(&ai_devices, adev->id, adev, GFP_KERNEL));
	if (!ret)
		goto unlock;
	device_del(&adev->dev);
free_number:
	__clear_bit(adev->id, ai_numbers);
	ai_watch_stop(adev);
unlock:
	mutex_unlock(&ai_devices_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(ai_device_register);

static bool ai_device_idle(struct ai_device *adev)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&adev->lock, flags);
	idle = list_empty(&adev->inflight);
	spin_unlock_irqrestore(&adev->lock, flags);
	return idle;
}

/**
 * ai_device_unplug() - take a device away
 * @adev: registered; works or not
 *
 * See the head of ai_driver.h. Process context.
 */
void ai_device_unplug(struct ai_device *adev)
{
	unsigned long flags;

	mutex_lock(&ai_devices_lock);
	xa_erase(&ai_devices, adev->id);
	mutex_unlock(&ai_devices_lock);

	spin_lock_irqsave(&adev->lock, flags);
	WRITE_ONCE(adev->unplugged, true);
	spin_unlock_irqrestore(&adev->lock, flags);
	wake_up_all(&adev->ready);
	ai_watch_end(adev);
	ai_sched_fail_queue(adev, -ENODEV, "the device was removed before the job began");

	/* Jobs that were given to the driver first, so that all that is left can go. */
	synchronize_srcu(&adev->unplug_srcu);
	smp_store_release(&adev->quiesced, true); /* see ai_vma_fault_gone() */
	wake_up_all(&adev->ready);
	ai_sched_abort_inflight(adev);
	if (!wait_event_timeout(adev->ready, ai_device_idle(adev),
				msecs_to_jiffies(AI_UNPLUG_TIMEOUT_MS)))
		dev_err(&adev->dev,
			"%u jobs have not ended %u ms after the driver was told to abort them; their memory stays allocated until it does\n",
			adev->nr_inflight, AI_UNPLUG_TIMEOUT_MS);

	device_del(&adev->dev);
	ai_device_detach_models(adev);
	ai_device_detach_as(adev);
	if (adev->mem_bytes)
		ai_mmap_revoke_device(adev);

	mutex_lock(&ai_devices_lock);
	__clear_bit(adev->id, ai_numbers);
	mutex_unlock(&ai_devices_lock);
}
EXPORT_SYMBOL_GPL(ai_device_unplug);

struct ai_device *ai_device_get(struct ai_device *adev)
{
	get_device(&adev->dev);
	return adev;
}
EXPORT_SYMBOL_GPL(ai_device_get);

void ai_device_put(struct ai_device *adev)
{
	put_device(&adev->dev);
}
EXPORT_SYMBOL_GPL(ai_device_put);

void ai_device_set_health(struct ai_device *adev, enum ai_health health)
{
	unsigned long flags;
	enum ai_health old;

	spin_lock_irqsave(&adev->lock, flags);
	old = adev->health;
	adev->health = health;
	spin_unlock_irqrestore(&adev->lock, flags);

	if (old == health)
		return;
	ai_decision_device(adev, AI_DECISION_HEALTH, health, old);
	wake_up_all(&adev->ready);
	if (health == AI_HEALTH_FAILED) {
		ai_watch_lost(adev);
		ai_sched_fail_queue(adev, -ENODEV,
				    "the device failed and could not be recovered");
	} else {
		ai_sched_kick(adev);
	}
}
EXPORT_SYMBOL_GPL(ai_device_set_health);

void ai_device_new_generation(struct ai_device *adev)
{
	unsigned long flags;
	u32 generation;

	spin_lock_irqsave(&adev->lock, flags);
	generation = ++adev->generation;
	spin_unlock_irqrestore(&adev->lock, flags);
	ai_decision_device(adev, AI_DECISION_GENERATION, generation, 0);
}
EXPORT_SYMBOL_GPL(ai_device_new_generation);

void ai_device_set_versions(struct ai_device *adev, const char *firmware, const char *engine)
{
	unsigned long flags;

	spin_lock_irqsave(&adev->lock, flags);
	strscpy(adev->firmware, firmware);
	strscpy(adev->engine, engine);
	spin_unlock_irqrestore(&adev->lock, flags);
}
EXPORT_SYMBOL_GPL(ai_device_set_versions);

/* A moment old when it returns. */
static enum ai_health ai_device_state(struct ai_device *adev, u32 *generation)
{
	enum ai_health health;
	unsigned long flags;

	spin_lock_irqsave(&adev->lock, flags);
	health = adev->health;
	*generation = adev->generation;
	spin_unlock_irqrestore(&adev->lock, flags);
	return health;
}

/**
 * ai_device_undisturbed() - whether a device lost nothing since it was ready
 * @adev: the device
 * @generation: from ai_device_generation() after it was ready
 */
bool ai_device_undisturbed(struct ai_device *adev, u32 generation)
{
	u32 now;

	return ai_device_state(adev, &now) <= AI_HEALTH_THROTTLED && now == generation;
}

u32 ai_device_generation(struct ai_device *adev)
{
	u32 generation;

	ai_device_state(adev, &generation);
	return generation;
}

static bool ai_device_settled(struct ai_device *adev)
{
	return READ_ONCE(adev->unplugged) || READ_ONCE(adev->health) != AI_HEALTH_RECOVERING;
}

/**
 * ai_device_wait_ready() - wait while a device recovers
 * @adev: the device
 * @until: give up then; 0: wait as long as it takes
 *
 * Who is sent back by the device comes here each time, so that it ends with a
 * signal and with its time.
 *
 * Return: 0, -ENODEV when it failed or went, -ETIME, -EINTR on a fatal signal.
 */
int ai_device_wait_ready(struct ai_device *adev, ktime_t until)
{
	long left = 0;

	if (fatal_signal_pending(current))
		return -EINTR;
	while (!left && ai_time_left(until))
		left = wait_event_killable_timeout(adev->ready, ai_device_settled(adev),
						   ai_jiffies_until(until));
	if (left < 0)
		return -EINTR;
	if (READ_ONCE(adev->unplugged) || READ_ONCE(adev->health) == AI_HEALTH_FAILED)
		return -ENODEV;
	return left ? 0 : -ETIME;
}

/**
 * ai_device_fail() - the sentence for what a device could not do
 * @call: the call
 * @adev: the device
 * @error: why
 * @what: what it did not do, after its name
 *
 * Return: @error.
 */
int ai_device_fail(struct ai_call *call, const struct ai_device *adev, int error,
		   const char *what)
{
	const char *name = dev_name(&adev->dev);

	switch (error) {
	case -ENODEV:
		return ai_fail(call, error, "%s %s: it failed or was removed", name, what);
	case -ETIME:
		return ai_fail(call, error, "%s %s before timeout_ns passed", name, what);
	case -EINTR:
		return ai_fail(call, error, "%s %s before a fatal signal ended the call", name,
			       what);
	case -ENOMEM:
		return ai_fail(call, error, "%s %s: the system has no memory for it", name, what);
	default:
		return ai_fail(call, error, "%s %s: error %d", name, what, error);
	}
}

/* The device with that number and a reference, or NULL. */
struct ai_device *ai_device_lookup(u32 id)
{
	struct ai_device *adev;

	mutex_lock(&ai_devices_lock);
	adev = xa_load(&ai_devices, id);
	if (adev)
		ai_device_get(adev);
	mutex_unlock(&ai_devices_lock);
	return adev;
}

/* The healthy device with these properties that has the least to do, or NULL. */
struct ai_device *ai_device_choose(u32 properties)
{
	struct ai_device *adev, *best = NULL;
	u32 load, best_load = U32_MAX;
	unsigned long id;

	mutex_lock(&ai_devices_lock);
	xa_for_each(&ai_devices, id, adev) {
		if ((adev->properties & properties) != properties ||
		    READ_ONCE(adev->health) == AI_HEALTH_FAILED)
			continue;
		load = READ_ONCE(adev->nr_queued) + READ_ONCE(adev->nr_inflight);
		if (load < best_load) {
			best = adev;
			best_load = load;
		}
	}
	if (best)
		ai_device_get(best);
	mutex_unlock(&ai_devices_lock);
	return best;
}

unsigned int ai_device_count(void)
{
	struct ai_device *adev;
	unsigned int count = 0;
	unsigned long id;

	mutex_lock(&ai_devices_lock);
	xa_for_each(&ai_devices, id, adev)
		count++;
	mutex_unlock(&ai_devices_lock);
	return count;
}

/* Zeroes for a device without sensors or one that has gone. */
void ai_device_read_sensors(struct ai_device *adev, struct ai_sensors *sensors)
{
	int idx;

	memset(sensors, 0, sizeof(*sensors));
	/* The operations are the driver's, which goes when it is not entered. */
	if (!ai_device_enter(adev, &idx))
		return;
	if (adev->ops->sensors) {
		adev->ops->sensors(adev, sensors);
		ai_device_report(adev, sensors);
	}
	ai_device_exit(adev, idx);
}

/* Bytes of its memory that are neither allocated nor promised. */
u64 ai_device_mem_free(struct ai_device *adev)
{
	u64 bytes = 0;

	mutex_lock(&adev->mem_lock);
	if (adev->buddy_ready)
		bytes = adev->buddy.avail - adev->mem_promised;
	mutex_unlock(&adev->mem_lock);
	return bytes;
}

/* Under ai_device.lock or for a figure that may be a moment old. */
u64 ai_device_busy_ns(struct ai_device *adev)
{
	u64 busy = adev->busy_ns;

	if (adev->nr_inflight)
		busy += ktime_to_ns(ktime_sub(ktime_get(), adev->busy_since));
	return busy;
}

struct ai_device *ai_device_next(u32 id)
{
	struct ai_device *adev;
	unsigned long index = id;

	mutex_lock(&ai_devices_lock);
	adev = xa_find(&ai_devices, &index, ULONG_MAX, XA_PRESENT);
	if (adev)
		ai_device_get(adev);
	mutex_unlock(&ai_devices_lock);
	return adev;
}

int ai_ioctl_device_info(struct ai_call *call, struct ai_device_info *arg)
{
	bool next = arg->hdr.flags & AI_DEVICE_NEXT;
	struct ai_sensors sensors;
	struct ai_device *adev;
	unsigned long flags;

	adev = next ? ai_device_next(arg->device) : ai_device_lookup(arg->device);
	if (!adev && next)
		return ai_fail(call, -ENOENT, "no device with number %u or above is registered",
			       arg->device);
	if (!adev)
		return ai_fail(call, -ENOENT, "device is %u, no such device is registered",
			       arg->device);

	ai_device_read_sensors(adev, &sensors);
	arg->temp_mc = sensors.temp_mc;
	arg->power_mw = sensors.power_mw;
	arg->clock_mhz = sensors.clock_mhz;
	arg->device = adev->id;
	arg->properties = adev->properties;
	arg->queue_depth = adev->queue_depth;
	arg->mem_total = adev->mem_bytes;
	arg->mem_free = ai_device_mem_free(adev);
	arg->temp_throttle_mc = adev->temp_throttle_mc;
	arg->power_limit_mw = adev->power_limit_mw;
	arg->clock_max_mhz = adev->clock_max_mhz;
	arg->bandwidth = adev->bandwidth;
	arg->reserved_bandwidth = READ_ONCE(adev->bandwidth_promised);
	strscpy_pad(arg->name, dev_name(&adev->dev));
	strscpy_pad(arg->product, adev->product);
	strscpy_pad(arg->bus, adev->bus);

	spin_lock_irqsave(&adev->lock, flags);
	arg->health = adev->health == AI_HEALTH_OK && sensors.throttled ? AI_HEALTH_THROTTLED :
									  adev->health;
	arg->generation = adev->generation;
	arg->queued = adev->nr_queued + adev->nr_inflight;
	arg->jobs_done = adev->jobs_done;
	arg->jobs_failed = adev->jobs_failed;
	arg->busy_ns = ai_device_busy_ns(adev);
	strscpy_pad(arg->firmware, adev->firmware);
	strscpy_pad(arg->engine, adev->engine);
	spin_unlock_irqrestore(&adev->lock, flags);

	ai_device_put(adev);
	return 0;
}
