// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps: AI_DUMP, and devcoredump when a device fails. What is in them is in
 * ai_dump_sections.c and ai_dump_jobs.c, their format in uapi/ai_dump.h.
 *
 * A dump is also made by what recovers a device, while others wait for that with
 * locks held. So none is taken here under which an operation of a driver runs.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/devcoredump.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include "ai_dump.h"

#ifdef __BIG_ENDIAN
#error "Dumps are little-endian and written in place"
#endif

#define AI_DUMP_FIRST_BYTES SZ_32K
#define AI_DUMP_MAX_BYTES SZ_4M

/* Elements of a section, at most; what is not here has as many as there are. */
static const u32 ai_dump_limits[] = {
	[AI_DUMP_REGISTERS] = 256,
	[AI_DUMP_DRIVER] = 256,
	[AI_DUMP_QUEUE] = 256,
	[AI_DUMP_CONTRACTS] = 64,
	[AI_DUMP_EVENTS] = 1024,
	[AI_DUMP_TENSORS] = 512,
	[AI_DUMP_PTES] = 2048,
	[AI_DUMP_FIRMWARE_LOG] = SZ_64K,
};

/* ---- the writer ---- */

/* Room for so many more bytes, zeroed, or NULL. */
static void *ai_dump_room(struct ai_dumper *dumper, size_t bytes)
{
	size_t capacity = dumper->capacity ?: AI_DUMP_FIRST_BYTES;
	void *place;
	u8 *data;

	if (dumper->error)
		return NULL;
	while (capacity - dumper->used < bytes && capacity < AI_DUMP_MAX_BYTES)
		capacity *= 2;
	if (capacity - dumper->used < bytes) {
		dumper->error = -EFBIG;
		return NULL;
	}
	if (capacity != dumper->capacity) {
		/* What devcoredump takes over comes from vmalloc(). */
		data = __vmalloc(capacity, dumper->gfp | __GFP_ZERO);
		if (!data) {
			dumper->error = -ENOMEM;
			return NULL;
		}
		if (dumper->used)
			memcpy(data, dumper->data, dumper->used);
		vfree(dumper->data);
		dumper->data = data;
		dumper->capacity = capacity;
	}
	place = dumper->data + dumper->used;
	dumper->used += bytes;
	return place;
}

static struct ai_dump_section *ai_dump_section(struct ai_dumper *dumper)
{
	return (struct ai_dump_section *)(dumper->data + dumper->section);
}

void ai_dump_begin(struct ai_dumper *dumper, enum ai_dump_type type, u32 element_bytes)
{
	size_t at = dumper->used;
	struct ai_dump_section *section = ai_dump_room(dumper, sizeof(*section));

	if (!section)
		return;
	section->type = type;
	section->version = 1;
	section->element_bytes = element_bytes;
	dumper->section = at;
	dumper->limit = type < ARRAY_SIZE(ai_dump_limits) ? ai_dump_limits[type] : 0;
	dumper->limit = dumper->limit ?: U32_MAX;
	dumper->sections++;
}

/* Returns whether there is room for another one. */
bool ai_dump_add(struct ai_dumper *dumper, const void *element)
{
	struct ai_dump_section *section;
	void *to;

	if (dumper->error)
		return false;
	section = ai_dump_section(dumper);
	if (section->count >= dumper->limit) {
		section->omitted++;
		return false;
	}
	to = ai_dump_room(dumper, section->element_bytes);
	if (!to)
		return false;
	/* It may be elsewhere now. */
	section = ai_dump_section(dumper);
	memcpy(to, element, section->element_bytes);
	return ++section->count < dumper->limit;
}

void ai_dump_omit(struct ai_dumper *dumper, u64 count)
{
	if (!dumper->error)
		ai_dump_section(dumper)->omitted += count;
}

void ai_dump_end(struct ai_dumper *dumper)
{
	size_t begin = dumper->section + sizeof(struct ai_dump_section);

	ai_dump_room(dumper, ALIGN(dumper->used, 8) - dumper->used);
	if (!dumper->error)
		ai_dump_section(dumper)->bytes = dumper->used - begin;
}

/* Whether it may be told of what belongs to that user, by a contract, or to that file. */
bool ai_dumper_sees(const struct ai_dumper *dumper, kuid_t uid, u64 file)
{
	return dumper->full || (uid_valid(uid) && uid_eq(uid, dumper->uid)) ||
	       (file && file == dumper->file);
}

/* ---- what drivers add ---- */

static void ai_dump_value(struct ai_dumper *dumper, const char *name, u64 offset, u64 value)
{
	struct ai_dump_value element = { .offset = offset, .value = value };

	strscpy(element.name, name);
	ai_dump_add(dumper, &element);
}

void ai_dump_register(struct ai_dumper *dumper, const char *name, u64 offset, u64 value)
{
	ai_dump_value(dumper, name, offset, value);
}
EXPORT_SYMBOL_GPL(ai_dump_register);

void ai_dump_number(struct ai_dumper *dumper, const char *name, u64 value)
{
	ai_dump_value(dumper, name, 0, value);
}
EXPORT_SYMBOL_GPL(ai_dump_number);

void ai_dump_unreadable(struct ai_dumper *dumper)
{
	dumper->unreadable = true;
	if (!dumper->error)
		ai_dump_section(dumper)->flags |= AI_DUMP_S_UNREADABLE;
}
EXPORT_SYMBOL_GPL(ai_dump_unreadable);

void ai_dump_text(struct ai_dumper *dumper, const char *text, size_t bytes)
{
	struct ai_dump_section *section;
	u64 skip;
	void *to;

	if (dumper->error)
		return;
	/* The end says more than the beginning. */
	skip = bytes - min_t(u64, bytes, dumper->limit - ai_dump_section(dumper)->count);
	ai_dump_omit(dumper, skip);
	to = ai_dump_room(dumper, bytes - skip);
	if (!to)
		return;
	memcpy(to, text + skip, bytes - skip);
	section = ai_dump_section(dumper);
	section->count += bytes - skip;
}
EXPORT_SYMBOL_GPL(ai_dump_text);

/* ---- the whole ---- */

static void ai_dump_header(struct ai_dumper *dumper, const char *reason)
{
	struct ai_dump_header *header = (struct ai_dump_header *)dumper->data;

	*header = (struct ai_dump_header){
		.magic = AI_DUMP_MAGIC,
		.format = AI_DUMP_FORMAT,
		.header_bytes = sizeof(*header),
		.total_bytes = dumper->used,
		.flags = (dumper->full ? AI_DUMP_F_FULL : 0) |
			 (dumper->entered ? 0 : AI_DUMP_F_GONE),
		.sections = dumper->sections,
		.device = dumper->adev->id,
		.time_ns = ktime_get_ns(),
		.wall_ns = ktime_get_real_ns(),
		.job = dumper->job,
		.withheld = dumper->withheld,
		.absent = dumper->absent,
		.abi_major = AI_ABI_MAJOR,
		.abi_minor = AI_ABI_MINOR,
	};
	strscpy(header->name, dev_name(&dumper->adev->dev));
	strscpy(header->module_version, THIS_MODULE->version ?: "");
	strscpy(header->module_source, THIS_MODULE->srcversion ?: "");
	strscpy(header->kernel, init_utsname()->release);
	strscpy(header->reason, reason);
}

/* Make the dump, in dumper->data, which the caller frees in any case. */
static int ai_dump_make(struct ai_dumper *dumper, const char *reason)
{
	u32 i;
	int idx;

	ai_dump_room(dumper, sizeof(struct ai_dump_header));
	dumper->entered = ai_device_enter(dumper->adev, &idx);
	ai_dump_sections(dumper);
	if (dumper->entered)
		ai_device_exit(dumper->adev, idx);
	for (i = 0; i < dumper->nr_details; i++)
		ai_job_put(dumper->details[i]);
	if (!dumper->error)
		ai_dump_header(dumper, reason);
	return dumper->error;
}

static int ai_dump_fail(struct ai_call *call, const struct ai_dumper *dumper, int error)
{
	const char *name = dev_name(&dumper->adev->dev);

	if (error == -ENOENT)
		return ai_fail(call, error,
			       "job is %llu, the caller may see no such job that waits or runs on %s",
			       dumper->job, name);
	if (error == -EFBIG)
		return ai_fail(call, error, "the dump of %s would be larger than %u bytes", name,
			       AI_DUMP_MAX_BYTES);
	return ai_fail(call, error, "the system has no memory for a dump of %s", name);
}

static int ai_dump_deliver(struct ai_call *call, const struct ai_dumper *dumper,
			   struct ai_dump *arg)
{
	arg->needed = dumper->used;
	if (arg->capacity < arg->needed)
		return ai_fail(call, -ENOSPC, "capacity is %llu, the dump has %llu bytes",
			       arg->capacity, arg->needed);
	if (copy_to_user(u64_to_user_ptr(arg->buffer), dumper->data, dumper->used))
		return ai_fail(call, -EFAULT,
			       "buffer is 0x%llx, no %llu bytes of the caller are there",
			       arg->buffer, arg->needed);
	return 0;
}

int ai_ioctl_dump(struct ai_call *call, struct ai_dump *arg)
{
	struct ai_dumper *dumper;
	int ret;

	arg->needed = 0;
	if (arg->reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", arg->reserved);
	dumper = kzalloc(sizeof(*dumper), GFP_KERNEL);
	if (!dumper)
		return ai_fail(call, -ENOMEM, "the system has no memory for a dump");
	/* That there is no memory is said in the answer. */
	dumper->gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	dumper->file = call->file->id;
	dumper->uid = current_euid();
	dumper->job = arg->job;
	/* Both get an answer, so that a refusal is nothing to be audited. */
	dumper->full = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	dumper->adev = ai_device_lookup(arg->device);
	if (!dumper->adev) {
		ret = ai_fail(call, -ENOENT, "device is %u, no such device is registered",
			      arg->device);
		goto free;
	}
	ret = ai_dump_make(dumper, "AI_DUMP");
	if (ret)
		ai_dump_fail(call, dumper, ret);
	else
		ret = ai_dump_deliver(call, dumper, arg);
	vfree(dumper->data);
	ai_device_put(dumper->adev);
free:
	kfree(dumper);
	return ret;
}

void ai_device_dump(struct ai_device *adev, const char *reason)
{
	struct ai_dumper *dumper;

	if (!IS_ENABLED(CONFIG_DEV_COREDUMP) || !adev->dev.parent)
		return;
	dumper = kzalloc(sizeof(*dumper), GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!dumper)
		return;
	/* Without it the device is recovered all the same. */
	dumper->gfp = GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN;
	dumper->full = true;
	dumper->adev = adev;
	/*
	 * As a failure of the parent, which is not this module's: the dump can stay
	 * until somebody reads it, and the modules be unloaded meanwhile.
	 */
	if (!ai_dump_make(dumper, reason))
		dev_coredumpv(adev->dev.parent, dumper->data, dumper->used, dumper->gfp);
	else
		vfree(dumper->data);
	kfree(dumper);
}
EXPORT_SYMBOL_GPL(ai_device_dump);
