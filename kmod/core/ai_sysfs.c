// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of a device in /sys/class/ai/<device>/: one value a file, readable
 * by everybody. Documented in Documentation/sysfs.md.
 */
#include <linux/sysfs.h>

#include "ai_internal.h"

#define to_adev(d) container_of(d, struct ai_device, dev)

#define AI_ATTR(_name, _fmt, _value)							\
	static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
				    char *buf)						\
	{										\
		struct ai_device *adev = to_adev(dev);					\
											\
		return sysfs_emit(buf, _fmt "\n", _value);				\
	}										\
	static DEVICE_ATTR_RO(_name)

AI_ATTR(class, "%s", ai_class_name(adev->class));
AI_ATTR(id, "%u", adev->id);
AI_ATTR(product, "%s", adev->product);
AI_ATTR(emulated, "%u", !!(adev->properties & AI_DEVICE_F_EMULATED));
AI_ATTR(health, "%s", ai_health_name(READ_ONCE(adev->health)));
AI_ATTR(generation, "%u", READ_ONCE(adev->generation));
AI_ATTR(queue_depth, "%u", adev->queue_depth);
AI_ATTR(queued, "%u", READ_ONCE(adev->nr_queued) + READ_ONCE(adev->nr_inflight));
AI_ATTR(jobs_done, "%llu", READ_ONCE(adev->jobs_done));
AI_ATTR(jobs_failed, "%llu", READ_ONCE(adev->jobs_failed));
AI_ATTR(busy_ns, "%llu", ai_device_busy_ns(adev));
AI_ATTR(mem_total, "%llu", adev->mem_bytes);
AI_ATTR(mem_free, "%llu", ai_device_mem_free(adev));

/* The driver may change the text meanwhile. */
static ssize_t ai_version_show(struct ai_device *adev, const char *version, size_t size, char *buf)
{
	char text[sizeof(adev->engine)];

	spin_lock_irq(&adev->lock);
	strscpy(text, version, min(size, sizeof(text)));
	spin_unlock_irq(&adev->lock);
	return sysfs_emit(buf, "%s\n", text);
}

static ssize_t firmware_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ai_device *adev = to_adev(dev);

	return ai_version_show(adev, adev->firmware, sizeof(adev->firmware), buf);
}
static DEVICE_ATTR_RO(firmware);

static ssize_t engine_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ai_device *adev = to_adev(dev);

	return ai_version_show(adev, adev->engine, sizeof(adev->engine), buf);
}
static DEVICE_ATTR_RO(engine);

static struct attribute *ai_device_attrs[] = {
	&dev_attr_class.attr,
	&dev_attr_id.attr,
	&dev_attr_product.attr,
	&dev_attr_emulated.attr,
	&dev_attr_health.attr,
	&dev_attr_generation.attr,
	&dev_attr_queue_depth.attr,
	&dev_attr_queued.attr,
	&dev_attr_jobs_done.attr,
	&dev_attr_jobs_failed.attr,
	&dev_attr_busy_ns.attr,
	&dev_attr_mem_total.attr,
	&dev_attr_mem_free.attr,
	&dev_attr_firmware.attr,
	&dev_attr_engine.attr,
	NULL
};

static const struct attribute_group ai_device_attr_group = {
	.attrs = ai_device_attrs,
};

const struct attribute_group *ai_device_groups[] = { &ai_device_attr_group, NULL };
