// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI driver of the reference NPU.
 */
#include <linux/ctype.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ai_npu.h"

#define AI_NPU_FIRMWARE "ai0/npu.fw"

static char *firmware = AI_NPU_FIRMWARE;
module_param(firmware, charp, 0644);
MODULE_PARM_DESC(firmware, "Firmware image, below /lib/firmware; looked for when a device is bound");

static unsigned int job_timeout_ms;
module_param(job_timeout_ms, uint, 0644);
MODULE_PARM_DESC(job_timeout_ms, "Longest run of one job, 0 for what ai.ko takes (10 s); for devices bound from then on");

unsigned int ai_npu_command_timeout_ms = 2000;
module_param_named(command_timeout_ms, ai_npu_command_timeout_ms, uint, 0644);
MODULE_PARM_DESC(command_timeout_ms, "Longest wait for the answer to a control command");

unsigned int ai_npu_abort_timeout_ms = 500;
module_param_named(abort_timeout_ms, ai_npu_abort_timeout_ms, uint, 0644);
MODULE_PARM_DESC(abort_timeout_ms, "Time a job has to end when told to, before the engine is reset");

unsigned int ai_npu_engine_reset_timeout_ms = 1000;
module_param_named(engine_reset_timeout_ms, ai_npu_engine_reset_timeout_ms, uint, 0644);
MODULE_PARM_DESC(engine_reset_timeout_ms, "Time a reset of the engine may take, before the firmware is restarted");

unsigned int ai_npu_firmware_restart_timeout_ms = 3000;
module_param_named(firmware_restart_timeout_ms, ai_npu_firmware_restart_timeout_ms, uint, 0644);
MODULE_PARM_DESC(firmware_restart_timeout_ms, "Time a restart of the firmware may take, before the device is power-cycled");

unsigned int ai_npu_power_cycle_timeout_ms = 5000;
module_param_named(power_cycle_timeout_ms, ai_npu_power_cycle_timeout_ms, uint, 0644);
MODULE_PARM_DESC(power_cycle_timeout_ms, "Time a power cycle may take, before the device is given up");

unsigned int ai_npu_heartbeat_timeout_ms = 2000;
module_param_named(heartbeat_timeout_ms, ai_npu_heartbeat_timeout_ms, uint, 0644);
MODULE_PARM_DESC(heartbeat_timeout_ms, "Time without heartbeat after which the firmware is restarted");

unsigned int ai_npu_model_timeout_ms = 120000;
module_param_named(model_timeout_ms, ai_npu_model_timeout_ms, uint, 0644);
MODULE_PARM_DESC(model_timeout_ms, "Longest time to make a model ready");

unsigned int ai_npu_reload_timeout_ms = 20000;
module_param_named(reload_timeout_ms, ai_npu_reload_timeout_ms, uint, 0644);
MODULE_PARM_DESC(reload_timeout_ms, "Longest time to make the models ready again after a restart");

/* The name of the image as it is now, to be freed with kfree(), or NULL. */
char *ai_npu_firmware_name(void)
{
	char *name;

	kernel_param_lock(THIS_MODULE);
	name = kstrdup(firmware, GFP_KERNEL);
	kernel_param_unlock(THIS_MODULE);
	if (name)
		strim(name); /* a newline, if it was written to sysfs */
	return name;
}

/**
 * ai_npu_fault() - count what a device was caught at
 * @npu: the device
 * @fault: what
 *
 * Return: whether to say so in the log. Any context.
 */
bool ai_npu_fault(struct ai_npu *npu, enum ai_npu_fault fault)
{
	atomic_inc(&npu->faults[fault]);
	return __ratelimit(&npu->fault_limit);
}

/**
 * ai_npu_text() - copy a text of the device
 * @to: buffer, terminated and printable afterwards
 * @to_bytes: its size
 * @from: text, possibly without end
 * @from_bytes: size of the field it is in
 */
void ai_npu_text(char *to, size_t to_bytes, const char *from, size_t from_bytes)
{
	size_t i;

	for (i = 0; i < from_bytes && i + 1 < to_bytes; i++) {
		char c = READ_ONCE(from[i]);

		if (!c)
			break;
		to[i] = isascii(c) && isprint(c) ? c : '?';
	}
	to[i] = '\0';
}

static void ai_npu_sensors(struct ai_device *adev, struct ai_sensors *sensors)
{
	ai_npu_hw_sensors(adev->driver_data, sensors);
}

static const struct ai_device_ops ai_npu_ops = {
	.as_create = ai_npu_as_create,
	.as_destroy = ai_npu_as_destroy,
	.as_map = ai_npu_as_map,
	.as_unmap = ai_npu_as_unmap,
	.model_load = ai_npu_model_load,
	.model_unload = ai_npu_model_unload,
	.submit = ai_npu_job_submit,
	.abort = ai_npu_job_abort,
	.sensors = ai_npu_sensors,
	.dump_registers = ai_npu_dump_registers,
	.dump_driver = ai_npu_dump_driver,
	.dump_log = ai_npu_dump_log,
	.dump_ptes = ai_npu_dump_ptes,
};

/* ---- bringing a device up and to a halt ---- */

/* Whatever state it was left in, by another driver or by a crash of this system. */
static int ai_npu_to_rom(struct ai_npu *npu)
{
	u32 state = ai_npu_hw_state(npu);
	int ret = -EIO;

	if (state != NPU_STATE_OFF)
		ret = ai_npu_hw_to_rom(npu, ai_npu_timeout(&ai_npu_firmware_restart_timeout_ms));
	if (ret)
		ret = ai_npu_hw_power_cycle(npu, ai_npu_timeout(&ai_npu_power_cycle_timeout_ms));
	if (ret) {
		dev_err(&npu->pdev->dev, "the device is %s and reacts neither to a reset nor to its power switch (error %d), needed is one in the boot ROM; see whether the process behind it runs\n",
			ai_npu_hw_state_name(ai_npu_hw_state(npu)), ret);
		/* Not to be tried again by those who clean up. */
		npu->lost = true;
	}
	return ret;
}

static int ai_npu_start(struct ai_npu *npu)
{
	int ret;

	ret = ai_npu_to_rom(npu);
	if (ret)
		return ret;
	/* Not before: who had it last may have left it at work. */
	pci_set_master(npu->pdev);
	ai_npu_hw_describe(npu);
	ret = ai_npu_fw_boot(npu, ai_npu_timeout(&ai_npu_firmware_restart_timeout_ms));
	if (ret)
		return ret;
	ret = ai_npu_mmu_restore(npu);
	if (ret)
		return ret;
	ai_npu_queue_set(&npu->queue[NPU_QUEUE_JOB], AI_NPU_OPEN);
	return 0;
}

/* No DMA from here on, even if that takes the device off the bus. */
static void ai_npu_halt(struct ai_npu *npu)
{
	ai_npu_queues_close(npu);
	if (!READ_ONCE(npu->lost) &&
	    ai_npu_hw_to_rom(npu, ai_npu_timeout(&ai_npu_firmware_restart_timeout_ms)) &&
	    ai_npu_hw_power_cycle(npu, ai_npu_timeout(&ai_npu_power_cycle_timeout_ms)) &&
	    !READ_ONCE(npu->gone))
		dev_warn(&npu->pdev->dev, "the device could neither be reset nor power-cycled; it is cut off from the bus\n");
	ai_npu_hw_cut_off(npu);
	ai_npu_queues_stopped(npu);
	/* Those the recovery has not come to. */
	ai_npu_jobs_end_guilty(npu, AI_NPU_RUNG_LOST, 0, "the device was removed");
}

/* ---- probe and remove ---- */

static int ai_npu_enable(struct ai_npu *npu)
{
	struct pci_dev *pdev = npu->pdev;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "the device could not be enabled\n");
	ret = pci_request_regions(pdev, AI_NPU_NAME);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "a BAR is used by another driver\n");
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "the bus has no addresses of 64 bits\n");
	/* The device reads page tables, not lists: a piece may have any length. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	return ai_npu_hw_init(npu);
}

static void ai_npu_describe(struct ai_npu *npu)
{
	struct ai_device *adev = npu->adev;

	adev->ops = &ai_npu_ops;
	adev->owner = THIS_MODULE;
	adev->driver_data = npu;
	adev->queue_depth = AI_NPU_JOBS;
	adev->job_timeout_ms = READ_ONCE(job_timeout_ms);
	adev->max_as = NPU_ASIDS - 1;
}

static struct ai_npu *ai_npu_alloc(struct pci_dev *pdev)
{
	struct ai_npu *npu = kzalloc(sizeof(*npu), GFP_KERNEL);

	if (!npu)
		return NULL;
	npu->adev = ai_device_alloc(&pdev->dev);
	if (!npu->adev) {
		kfree(npu);
		return NULL;
	}
	npu->pdev = pdev;
	init_waitqueue_head(&npu->stop_wait);
	init_waitqueue_head(&npu->model_wait);
	init_waitqueue_head(&npu->job_wait);
	ida_init(&npu->asids);
	mutex_init(&npu->as_mutex);
	INIT_LIST_HEAD(&npu->as_list);
	mutex_init(&npu->model_mutex);
	INIT_LIST_HEAD(&npu->models);
	ratelimit_state_init(&npu->fault_limit, 5 * HZ, 10);
	ai_npu_describe(npu);
	return npu;
}

static void ai_npu_free(struct ai_npu *npu)
{
	mutex_destroy(&npu->model_mutex);
	mutex_destroy(&npu->as_mutex);
	ai_device_put(npu->adev);
	kfree(npu);
}

static int ai_npu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ai_npu *npu = ai_npu_alloc(pdev);
	int ret;

	if (!npu)
		return -ENOMEM;
	ret = ai_npu_enable(npu);
	if (ret)
		goto free;
	ret = ai_npu_fw_request(npu);
	if (ret)
		goto free;
	ret = ai_npu_queues_init(npu);
	if (ret)
		goto release_fw;
	ret = ai_npu_mmu_init(npu);
	if (ret)
		goto fini_queues;
	ret = ai_npu_jobs_init(npu);
	if (ret)
		goto fini_mmu;
	ret = ai_npu_recovery_init(npu);
	if (ret)
		goto fini_jobs;

	ret = ai_npu_irqs_init(npu);
	if (ret)
		goto cut_off;
	ret = ai_npu_start(npu);
	if (ret)
		goto halt;

	pci_set_drvdata(pdev, npu);
	ai_npu_recovery_start(npu);
	ret = ai_device_register(npu->adev);
	if (ret) {
		dev_err(&pdev->dev, "the device could not be registered with ai.ko (error %d)\n",
			ret);
		goto stop_recovery;
	}
	ai_npu_hwmon_init(npu);
	ai_npu_debugfs_init(npu);
	dev_info(&pdev->dev, "%s is %s, firmware %s, engine %s, %llu MiB of device memory\n",
		 dev_name(&npu->adev->dev), npu->adev->product, npu->adev->firmware,
		 npu->adev->engine, npu->adev->mem_bytes >> 20);
	return 0;

stop_recovery:
	ai_npu_recovery_stop(npu);
halt:
	ai_npu_halt(npu);
	ai_npu_irqs_fini(npu);
cut_off:
	ai_npu_hw_cut_off(npu);
	ai_npu_recovery_fini(npu);
fini_jobs:
	ai_npu_jobs_fini(npu);
fini_mmu:
	ai_npu_mmu_fini(npu);
fini_queues:
	ai_npu_queues_fini(npu);
release_fw:
	ai_npu_fw_release(npu);
free:
	ai_npu_free(npu);
	return ret;
}

/*
 * At any time, with jobs running, the device dead or already out of its slot.
 * The recovery works until ai.ko has let go of the device: that is what bounds
 * the time it takes.
 */
static void ai_npu_remove(struct pci_dev *pdev)
{
	struct ai_npu *npu = pci_get_drvdata(pdev);

	ai_npu_debugfs_fini(npu);
	ai_npu_hwmon_fini(npu);
	WRITE_ONCE(npu->removing, true);
	if (!ai_npu_hw_present(npu))
		ai_npu_recovery_gone(npu);
	ai_device_unplug(npu->adev);
	ai_npu_recovery_stop(npu);
	ai_npu_halt(npu);
	ai_npu_irqs_fini(npu);
	ai_npu_recovery_fini(npu);
	ai_npu_jobs_fini(npu);
	ai_npu_mmu_fini(npu);
	ai_npu_queues_fini(npu);
	ai_npu_fw_release(npu);
	ai_npu_free(npu);
}

/* The next kernel shall not find a device that writes to its memory. */
static void ai_npu_shutdown(struct pci_dev *pdev)
{
	struct ai_npu *npu = pci_get_drvdata(pdev);

	ai_npu_recovery_stop(npu);
	ai_device_set_health(npu->adev, AI_HEALTH_RECOVERING);
	ai_npu_halt(npu);
}

static void ai_npu_reset_prepare(struct pci_dev *pdev)
{
	ai_npu_recovery_pause(pci_get_drvdata(pdev));
}

static void ai_npu_reset_done(struct pci_dev *pdev)
{
	ai_npu_recovery_resume(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers ai_npu_error_handlers = {
	.reset_prepare = ai_npu_reset_prepare,
	.reset_done = ai_npu_reset_done,
};

static const struct pci_device_id ai_npu_ids[] = {
	{ PCI_DEVICE(AI_NPU_PCI_VENDOR, AI_NPU_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ai_npu_ids);

static struct pci_driver ai_npu_driver = {
	.name = AI_NPU_NAME,
	.id_table = ai_npu_ids,
	.probe = ai_npu_probe,
	.remove = ai_npu_remove,
	.shutdown = ai_npu_shutdown,
	.dev_groups = ai_npu_groups,
	.err_handler = &ai_npu_error_handlers,
};

static int __init ai_npu_init(void)
{
	int ret;

	ai_npu_debugfs_root(true);
	ret = pci_register_driver(&ai_npu_driver);
	if (ret)
		ai_npu_debugfs_root(false);
	return ret;
}

static void __exit ai_npu_exit(void)
{
	pci_unregister_driver(&ai_npu_driver);
	ai_npu_debugfs_root(false);
}

module_init(ai_npu_init);
module_exit(ai_npu_exit);

MODULE_AUTHOR("The ai0 developers");
MODULE_DESCRIPTION("Driver of the reference NPU");
MODULE_LICENSE("GPL");
MODULE_FIRMWARE(AI_NPU_FIRMWARE);
