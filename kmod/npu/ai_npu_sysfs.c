// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the driver shows: the folder ai_npu in that of the PCI device in sysfs,
 * and ai_npu/<PCI address> in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/sysfs.h>

#include "ai_npu.h"

/* ---- sysfs ---- */

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ai_npu *npu = dev_get_drvdata(dev);

	if (READ_ONCE(npu->lost))
		return sysfs_emit(buf, "lost\n");
	return sysfs_emit(buf, "%s\n", ai_npu_hw_state_name(ai_npu_hw_state(npu)));
}
static DEVICE_ATTR_RO(state);

static ssize_t reset_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	bool reset;
	int ret;

	ret = kstrtobool(buf, &reset);
	if (ret)
		return ret;
	if (!reset)
		return -EINVAL;
	ret = ai_npu_recovery_manual(dev_get_drvdata(dev));
	return ret ?: count;
}
static DEVICE_ATTR_WO(reset);

static ssize_t ai_npu_resets_show(struct device *dev, char *buf, enum ai_npu_rung rung)
{
	struct ai_npu *npu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", (u32)atomic_read(&npu->recovery.count[rung]));
}

#define AI_NPU_RESETS_ATTR(name, rung) \
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{ \
	return ai_npu_resets_show(dev, buf, rung); \
} \
static DEVICE_ATTR_RO(name)

AI_NPU_RESETS_ATTR(resets_job, AI_NPU_RUNG_JOB);
AI_NPU_RESETS_ATTR(resets_engine, AI_NPU_RUNG_ENGINE);
AI_NPU_RESETS_ATTR(resets_firmware, AI_NPU_RUNG_FIRMWARE);
AI_NPU_RESETS_ATTR(resets_power, AI_NPU_RUNG_POWER);
AI_NPU_RESETS_ATTR(lost, AI_NPU_RUNG_LOST);

static struct attribute *ai_npu_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_reset.attr,
	&dev_attr_resets_job.attr,
	&dev_attr_resets_engine.attr,
	&dev_attr_resets_firmware.attr,
	&dev_attr_resets_power.attr,
	&dev_attr_lost.attr,
	NULL
};

static const struct attribute_group ai_npu_group = {
	.name = AI_NPU_NAME, /* apart from "reset" of the PCI core */
	.attrs = ai_npu_attrs,
};

const struct attribute_group *ai_npu_groups[] = {
	&ai_npu_group,
	NULL
};

/* ---- debugfs ---- */

static struct dentry *ai_npu_debugfs_dir;

static int log_show(struct seq_file *m, void *unused)
{
	return ai_npu_log_show(m->private, m);
}
DEFINE_SHOW_ATTRIBUTE(log);

static int faults_show(struct seq_file *m, void *unused)
{
	static const char * const names[] = {
		[AI_NPU_FAULT_INDEX] = "impossible completion index",
		[AI_NPU_FAULT_TAG] = "completion with unknown tag",
		[AI_NPU_FAULT_OP] = "completion with wrong operation",
		[AI_NPU_FAULT_STATUS] = "completion with unknown status",
		[AI_NPU_FAULT_RESULT] = "impossible description of an output",
		[AI_NPU_FAULT_MODEL] = "impossible description of a model",
		[AI_NPU_FAULT_LATE] = "completion after its time-out",
	};
	struct ai_npu *npu = m->private;
	u32 i;

	static_assert(ARRAY_SIZE(names) == AI_NPU_FAULTS);
	for (i = 0; i < AI_NPU_FAULTS; i++)
		seq_printf(m, "%-38s %u\n", names[i], (u32)atomic_read(&npu->faults[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(faults);

static int queues_show(struct seq_file *m, void *unused)
{
	static const char * const names[NPU_QUEUES] = {
		[NPU_QUEUE_CTRL] = "control",
		[NPU_QUEUE_JOB] = "job",
	};
	static const char * const states[] = {
		[AI_NPU_STOPPED] = "stopped",
		[AI_NPU_OPEN] = "open",
		[AI_NPU_CLOSING] = "closing",
	};
	struct ai_npu *npu = m->private;
	u32 i, slot;

	for (i = 0; i < NPU_QUEUES; i++) {
		struct ai_npu_queue *queue = &npu->queue[i];
		struct npu_ring_index *index = &queue->ring->index;

		spin_lock_irq(&queue->lock);
		seq_printf(m, "%s: %s, commands %u sent %u taken, completions %u given %u handled\n",
			   names[i], states[queue->state], queue->cmd_tail,
			   READ_ONCE(index->cmd_head), READ_ONCE(index->cpl_tail),
			   queue->cpl_head);
		for_each_set_bit(slot, queue->slots, NPU_QUEUE_ENTRIES)
			seq_printf(m, "  tag 0x%llx: operation %u%s\n", queue->tags[slot],
				   queue->ops[slot], queue->requests[slot] ? "" : ", unattended");
		spin_unlock_irq(&queue->lock);
	}
	seq_printf(m, "stops: %d\n", atomic_read(&npu->stops));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(queues);

void ai_npu_debugfs_root(bool create)
{
	if (create)
		ai_npu_debugfs_dir = debugfs_create_dir(AI_NPU_NAME, NULL);
	else
		debugfs_remove(ai_npu_debugfs_dir);
}

void ai_npu_debugfs_init(struct ai_npu *npu)
{
	npu->debugfs = debugfs_create_dir(pci_name(npu->pdev), ai_npu_debugfs_dir);
	debugfs_create_file("log", 0400, npu->debugfs, npu, &log_fops);
	debugfs_create_file("faults", 0400, npu->debugfs, npu, &faults_fops);
	debugfs_create_file("queues", 0400, npu->debugfs, npu, &queues_fops);
}

/* Waits for those who read. */
void ai_npu_debugfs_fini(struct ai_npu *npu)
{
	debugfs_remove(npu->debugfs);
}
