// SPDX-License-Identifier: GPL-2.0-only
/*
 * ai_sim.ko: software devices, as many as asked for.
 */
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ai_sim.h"

#define AI_SIM_MAX 64

static uint devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of devices, 1 to 64 (default 1)");

static char *class[AI_SIM_MAX];
static int nr_class;
module_param_array(class, charp, &nr_class, 0444);
MODULE_PARM_DESC(class, "class of each device: npu (default), gpu or fpga; the last one given holds for the rest");

static uint latency_us[AI_SIM_MAX];
static int nr_latency;
module_param_array(latency_us, uint, &nr_latency, 0444);
MODULE_PARM_DESC(latency_us, "time one job takes on each device, in microseconds (default 0: it ends within its submission); the last one given holds for the rest");

static uint queue_depth = 4;
module_param(queue_depth, uint, 0444);
MODULE_PARM_DESC(queue_depth, "jobs in flight a device, 1 to 256 (default 4)");

static uint mem_mb;
module_param(mem_mb, uint, 0444);
MODULE_PARM_DESC(mem_mb, "memory of each device in MiB: 0 (default), 1, 2 or 4");

static uint bandwidth = 1000;
module_param(bandwidth, uint, 0444);
MODULE_PARM_DESC(bandwidth, "tensor data each device says it can move, in MB a second; 0: it does not say (default 1000)");

static uint job_timeout_ms;
module_param(job_timeout_ms, uint, 0444);
MODULE_PARM_DESC(job_timeout_ms, "longest time one job may take (default 0: that of ai.ko)");

/* Counted down by the jobs, from any context. */
static uint hang;
module_param(hang, uint, 0644);
MODULE_PARM_DESC(hang, "the next jobs, as many as this says, never end by themselves");

static uint fail;
module_param(fail, uint, 0644);
MODULE_PARM_DESC(fail, "the next jobs, as many as this says, end with an error");

static struct device *ai_sim_root;
static struct ai_sim *ai_sims[AI_SIM_MAX];
static DEFINE_MUTEX(ai_sims_lock); /* ai_sims */

static bool ai_sim_take(uint *count)
{
	uint old = READ_ONCE(*count);

	while (old)
		if (try_cmpxchg(count, &old, old - 1))
			return true;
	return false;
}

bool ai_sim_take_hang(void)
{
	return ai_sim_take(&hang);
}

bool ai_sim_take_fail(void)
{
	return ai_sim_take(&fail);
}

/* All there is to tell: a software device has no registers and no firmware. */
void ai_sim_dump_driver(struct ai_device *adev, struct ai_dumper *dumper)
{
	struct ai_sim *sim = adev->driver_data;
	u32 i, busy = 0;
	s64 left;

	spin_lock_irq(&sim->lock);
	for (i = 0; i < adev->queue_depth; i++)
		busy += sim->slots[i].busy;
	left = ktime_to_ns(ktime_sub(sim->free_at, ktime_get()));
	spin_unlock_irq(&sim->lock);
	ai_dump_number(dumper, "latency_ns", sim->latency_ns);
	ai_dump_number(dumper, "slots_busy", busy);
	ai_dump_number(dumper, "busy_for_ns", max_t(s64, left, 0));
	ai_dump_number(dumper, "hang", READ_ONCE(hang));
	ai_dump_number(dumper, "fail", READ_ONCE(fail));
}

static int ai_sim_class(u32 i, enum ai_class *result)
{
	const char *name = nr_class ? class[min_t(u32, i, nr_class - 1)] : "npu";

	if (!strcmp(name, "npu"))
		*result = AI_CLASS_NPU;
	else if (!strcmp(name, "gpu"))
		*result = AI_CLASS_GPU;
	else if (!strcmp(name, "fpga"))
		*result = AI_CLASS_FPGA;
	else
		return -EINVAL;
	return 0;
}

static int ai_sim_alloc_memory(struct ai_sim *sim)
{
	if (!mem_mb)
		return 0;
	sim->mem_order = ilog2(mem_mb << (20 - PAGE_SHIFT));
	sim->mem = alloc_pages(GFP_KERNEL | __GFP_ZERO, sim->mem_order);
	if (!sim->mem)
		return -ENOMEM;
	sim->adev->mem_bytes = (u64)mem_mb << 20;
	sim->adev->mem_phys = page_to_phys(sim->mem);
	return 0;
}

static void ai_sim_free(struct ai_sim *sim)
{
	if (sim->mem)
		__free_pages(sim->mem, sim->mem_order);
	ai_device_put(sim->adev);
	kfree(sim);
}

static int ai_sim_create(u32 i)
{
	struct ai_device *adev;
	struct ai_sim *sim;
	int ret;

	sim = kzalloc(struct_size(sim, slots, queue_depth), GFP_KERNEL);
	if (!sim)
		return -ENOMEM;
	adev = ai_device_alloc(ai_sim_root);
	if (!adev) {
		kfree(sim);
		return -ENOMEM;
	}
	sim->adev = adev;
	spin_lock_init(&sim->lock);
	sim->latency_ns = nr_latency ?
			  latency_us[min_t(u32, i, nr_latency - 1)] * (u64)NSEC_PER_USEC : 0;

	adev->ops = &ai_sim_ops;
	adev->owner = THIS_MODULE;
	adev->properties = AI_DEVICE_F_EMULATED | AI_DEVICE_F_MODELS;
	adev->queue_depth = queue_depth;
	adev->job_timeout_ms = job_timeout_ms;
	adev->temp_throttle_mc = ai_sim_throttle_mc();
	adev->power_limit_mw = ai_sim_power_limit_mw();
	adev->clock_max_mhz = 1000;
	adev->bandwidth = bandwidth * 1000000ULL;
	adev->driver_data = sim;
	strscpy(adev->product, "ai_sim software device (emulation)");
	strscpy(adev->engine, "ai_sim null engine (emulation)");
	snprintf(adev->bus, sizeof(adev->bus), "ai_sim.%u", i);

	ret = ai_sim_class(i, &adev->class);
	if (ret) {
		pr_err("ai_sim: class of device %u is '%s', it can be npu, gpu or fpga\n", i,
		       class[min_t(u32, i, nr_class - 1)]);
		goto free;
	}
	ret = ai_sim_alloc_memory(sim);
	if (ret)
		goto free;
	if (mem_mb)
		adev->properties |= AI_DEVICE_F_MEMORY;
	ai_sim_thermal_init(sim);
	ai_sim_engine_init(sim);
	ret = ai_device_register(adev);
	if (ret)
		goto free;
	mutex_lock(&ai_sims_lock);
	ai_sims[i] = sim;
	mutex_unlock(&ai_sims_lock);
	return 0;

free:
	ai_sim_free(sim);
	return ret;
}

static int ai_sim_destroy(u32 i)
{
	struct ai_sim *sim;

	mutex_lock(&ai_sims_lock);
	sim = ai_sims[i];
	ai_sims[i] = NULL;
	mutex_unlock(&ai_sims_lock);
	if (!sim)
		return -ENODEV;
	ai_device_unplug(sim->adev);
	ai_sim_engine_exit(sim);
	ai_sim_free(sim);
	return 0;
}

static int ai_sim_set_unplug(const char *value, const struct kernel_param *param)
{
	u32 i;
	int ret = kstrtou32(value, 0, &i);

	if (ret)
		return ret;
	return i < AI_SIM_MAX ? ai_sim_destroy(i) : -ENODEV;
}

static const struct kernel_param_ops ai_sim_unplug_ops = { .set = ai_sim_set_unplug };
module_param_cb(unplug, &ai_sim_unplug_ops, NULL, 0200);
MODULE_PARM_DESC(unplug, "takes away the device of that number, from 0, as if it had been pulled out");

static void ai_sim_destroy_all(void)
{
	u32 i;

	for (i = 0; i < AI_SIM_MAX; i++)
		ai_sim_destroy(i);
	root_device_unregister(ai_sim_root);
}

static int __init ai_sim_init(void)
{
	int ret;
	u32 i;

	if (!devices || devices > AI_SIM_MAX || !queue_depth || queue_depth > 256 ||
	    mem_mb > 4 || (mem_mb && !is_power_of_2(mem_mb))) {
		pr_err("ai_sim: devices is %u (1 to %u), queue_depth %u (1 to 256), mem_mb %u (0, 1, 2 or 4)\n",
		       devices, AI_SIM_MAX, queue_depth, mem_mb);
		return -EINVAL;
	}

	ai_sim_root = root_device_register("ai_sim");
	if (IS_ERR(ai_sim_root))
		return PTR_ERR(ai_sim_root);
	for (i = 0; i < devices; i++) {
		ret = ai_sim_create(i);
		if (ret) {
			ai_sim_destroy_all();
			return ret;
		}
	}
	return 0;
}

static void __exit ai_sim_exit(void)
{
	ai_sim_destroy_all();
}

module_init(ai_sim_init);
module_exit(ai_sim_exit);

MODULE_AUTHOR("The ai0 developers");
MODULE_DESCRIPTION("Software devices for ai0 (emulation)");
MODULE_LICENSE("GPL");
