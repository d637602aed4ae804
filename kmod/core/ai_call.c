// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctl entry: sizes, flags and reserved fields of every argument, and the
 * error sentence. What is checked here need not be checked again.
 */
#include <linux/ctype.h>
#include <linux/errname.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_internal.h"

/**
 * ai_fail() - fail a call with a sentence
 * @call: the call; the sentence replaces an earlier one
 * @error: negative error number
 * @fmt: one plain sentence: the field, the value found, the value needed
 *
 * Nothing is formatted when the caller has given no buffer. May sleep.
 *
 * Return: @error
 */
int ai_fail(struct ai_call *call, int error, const char *fmt, ...)
{
	va_list args;

	if (!call->error || !call->error_len)
		return error;

	kfree(call->message);
	va_start(args, fmt);
	call->message = kvasprintf(GFP_KERNEL, fmt, args);
	va_end(args);
	return error;
}

static void ai_call_send_message(struct ai_call *call, int error)
{
	char text[80];
	const char *message = call->message;
	size_t length;

	if (!call->error || !call->error_len)
		return;

	if (!message) {
		snprintf(text, sizeof(text), "the kernel could not carry out the call: %s",
			 errname(error) ?: "unknown error");
		message = text;
	}
	length = min_t(size_t, strlen(message), call->error_len - 1);
	/* The call fails already; a bad error buffer cannot make it fail more. */
	if (!copy_to_user(u64_to_user_ptr(call->error), message, length))
		put_user('\0', (char __user *)u64_to_user_ptr(call->error) + length);
}

/**
 * ai_check_name() - whether a name can be one
 * @call: the call
 * @name: the name
 * @size: of the array it is in
 *
 * Return: 0 or -EINVAL.
 */
int ai_check_name(struct ai_call *call, const char *name, size_t size)
{
	u32 i;

	if (!name[0] || strnlen(name, size) == size)
		return ai_fail(call, -EINVAL, "name needs 1 to %zu characters and a NUL", size - 1);
	for (i = 0; name[i]; i++)
		if (!isascii(name[i]) || !isprint(name[i]))
			return ai_fail(call, -EINVAL,
				       "name has byte 0x%02x at position %u, only printable ASCII is allowed",
				       (u8)name[i], i);
	return 0;
}

static int ai_ioctl_info(struct ai_call *call, struct ai_info *arg)
{
	arg->abi_major = AI_ABI_MAJOR;
	arg->abi_minor = AI_ABI_MINOR;
	arg->features = AI_FEATURE_CONTRACTS | AI_FEATURE_FALLBACK | AI_FEATURE_DUMP |
			AI_FEATURE_DMABUF;
	arg->page_size = PAGE_SIZE;
	arg->nr_devices = ai_device_count();
	arg->max_tensors = AI_MAX_TENSORS;
	arg->max_dims = AI_MAX_DIMS;
	arg->max_model_bytes = AI_MAX_MODEL_BYTES;
	arg->max_alloc_bytes = AI_GPT_MAX_PAGES << PAGE_SHIFT;
	return 0;
}

union ai_args {
	struct ai_hdr hdr;
	struct ai_info info;
	struct ai_device_info device_info;
	struct ai_alloc alloc;
	struct ai_free free;
	struct ai_region_info region_info;
	struct ai_model_load model_load;
	struct ai_model_info model_info;
	struct ai_model_unload model_unload;
	struct ai_infer infer;
	struct ai_cancel cancel;
	struct ai_contract_create contract_create;
	struct ai_contract_info contract_query;
	struct ai_contract_renew contract_renew;
	struct ai_fuse_reset fuse_reset;
	struct ai_contract_events contract_events;
	struct ai_dump dump;
	struct ai_export export;
	struct ai_import import;
	struct ai_sync sync;
};

/**
 * struct ai_command - what the entry knows of a command
 * @size: size of the argument known to this kernel
 * @min_size: size first published
 * @flags: flags it takes
 * @copy_back: everything behind the head is copied back
 * @copy_on_error: copied back when the call fails, too
 * @of_contract: on the descriptor of a contract
 * @not_of_node: not on that of /dev/ai0
 * @handler: what does it
 * @undo: takes back what it did, for when the result cannot be delivered
 */
struct ai_command {
	u16 size;
	u16 min_size;
	u32 flags;
	bool copy_back;
	bool copy_on_error;
	bool of_contract;
	bool not_of_node;
	int (*handler)(struct ai_call *call, void *arg);
	void (*undo)(struct ai_call *call, void *arg);
};

#define AI_HANDLER(fn, type)						\
	static int fn##_entry(struct ai_call *call, void *arg)		\
	{								\
		return fn(call, (type *)arg);				\
	}

AI_HANDLER(ai_ioctl_info, struct ai_info)
AI_HANDLER(ai_ioctl_device_info, struct ai_device_info)
AI_HANDLER(ai_ioctl_alloc, struct ai_alloc)
AI_HANDLER(ai_ioctl_free, struct ai_free)
AI_HANDLER(ai_ioctl_region_info, struct ai_region_info)
AI_HANDLER(ai_ioctl_model_load, struct ai_model_load)
AI_HANDLER(ai_ioctl_model_info, struct ai_model_info)
AI_HANDLER(ai_ioctl_model_unload, struct ai_model_unload)
AI_HANDLER(ai_ioctl_infer, struct ai_infer)
AI_HANDLER(ai_ioctl_cancel, struct ai_cancel)
AI_HANDLER(ai_ioctl_contract_create, struct ai_contract_create)
AI_HANDLER(ai_ioctl_contract_query, struct ai_contract_info)
AI_HANDLER(ai_ioctl_contract_renew, struct ai_contract_renew)
AI_HANDLER(ai_ioctl_fuse_reset, struct ai_fuse_reset)
AI_HANDLER(ai_ioctl_contract_events, struct ai_contract_events)
AI_HANDLER(ai_ioctl_dump, struct ai_dump)
AI_HANDLER(ai_ioctl_export, struct ai_export)
AI_HANDLER(ai_ioctl_import, struct ai_import)
AI_HANDLER(ai_ioctl_sync, struct ai_sync)

static void ai_undo_alloc_entry(struct ai_call *call, void *arg)
{
	ai_undo_alloc(call, arg);
}

static void ai_undo_import_entry(struct ai_call *call, void *arg)
{
	ai_undo_import(call, arg);
}

static void ai_undo_model_load_entry(struct ai_call *call, void *arg)
{
	ai_undo_model_load(call, arg);
}

static const struct ai_command ai_commands[] = {
	[_IOC_NR(AI_INFO)] = {
		.size = sizeof(struct ai_info),
		.min_size = AI_INFO_SIZE_VER0,
		.copy_back = true,
		.handler = ai_ioctl_info_entry,
	},
	[_IOC_NR(AI_DEVICE_INFO)] = {
		.size = sizeof(struct ai_device_info),
		.min_size = AI_DEVICE_INFO_SIZE_VER0,
		.flags = AI_DEVICE_NEXT,
		.copy_back = true,
		.handler = ai_ioctl_device_info_entry,
	},
	[_IOC_NR(AI_ALLOC)] = {
		.size = sizeof(struct ai_alloc),
		.min_size = AI_ALLOC_SIZE_VER0,
		.flags = AI_ALLOC_MAP | AI_ALLOC_CONTRACT,
		.copy_back = true,
		.handler = ai_ioctl_alloc_entry,
		.undo = ai_undo_alloc_entry,
	},
	[_IOC_NR(AI_FREE)] = {
		.size = sizeof(struct ai_free),
		.min_size = AI_FREE_SIZE_VER0,
		.flags = AI_FREE_UNMAP,
		.handler = ai_ioctl_free_entry,
	},
	[_IOC_NR(AI_REGION_INFO)] = {
		.size = sizeof(struct ai_region_info),
		.min_size = AI_REGION_INFO_SIZE_VER0,
		.copy_back = true,
		.handler = ai_ioctl_region_info_entry,
	},
	[_IOC_NR(AI_MODEL_LOAD)] = {
		.size = sizeof(struct ai_model_load),
		.min_size = AI_MODEL_LOAD_SIZE_VER0,
		.flags = AI_MODEL_NOWAIT,
		.copy_back = true,
		.handler = ai_ioctl_model_load_entry,
		.undo = ai_undo_model_load_entry,
	},
	[_IOC_NR(AI_MODEL_INFO)] = {
		.size = sizeof(struct ai_model_info),
		.min_size = AI_MODEL_INFO_SIZE_VER0,
		.copy_back = true,
		.handler = ai_ioctl_model_info_entry,
	},
	[_IOC_NR(AI_MODEL_UNLOAD)] = {
		.size = sizeof(struct ai_model_unload),
		.min_size = AI_MODEL_UNLOAD_SIZE_VER0,
		.handler = ai_ioctl_model_unload_entry,
	},
	[_IOC_NR(AI_INFER)] = {
		.size = sizeof(struct ai_infer),
		.min_size = AI_INFER_SIZE_VER0,
		.flags = AI_INFER_CONTRACT,
		.copy_back = true,
		.copy_on_error = true,
		.handler = ai_ioctl_infer_entry,
	},
	[_IOC_NR(AI_CANCEL)] = {
		.size = sizeof(struct ai_cancel),
		.min_size = AI_CANCEL_SIZE_VER0,
		.copy_back = true,
		.handler = ai_ioctl_cancel_entry,
	},
	[_IOC_NR(AI_CONTRACT_CREATE)] = {
		.size = sizeof(struct ai_contract_create),
		.min_size = AI_CONTRACT_CREATE_SIZE_VER0,
		.copy_back = true,
		.copy_on_error = true,
		.handler = ai_ioctl_contract_create_entry,
	},
	[_IOC_NR(AI_CONTRACT_QUERY)] = {
		.size = sizeof(struct ai_contract_info),
		.min_size = AI_CONTRACT_QUERY_SIZE_VER0,
		.flags = AI_CONTRACT_NEXT,
		.copy_back = true,
		.of_contract = true,
		.handler = ai_ioctl_contract_query_entry,
	},
	[_IOC_NR(AI_CONTRACT_RENEW)] = {
		.size = sizeof(struct ai_contract_renew),
		.min_size = AI_CONTRACT_RENEW_SIZE_VER0,
		.copy_back = true,
		.copy_on_error = true,
		.of_contract = true,
		.not_of_node = true,
		.handler = ai_ioctl_contract_renew_entry,
	},
	[_IOC_NR(AI_FUSE_RESET)] = {
		.size = sizeof(struct ai_fuse_reset),
		.min_size = AI_FUSE_RESET_SIZE_VER0,
		.copy_back = true,
		.handler = ai_ioctl_fuse_reset_entry,
	},
	[_IOC_NR(AI_CONTRACT_EVENTS)] = {
		.size = sizeof(struct ai_contract_events),
		.min_size = AI_CONTRACT_EVENTS_SIZE_VER0,
		.copy_back = true,
		.handler = ai_ioctl_contract_events_entry,
	},
	[_IOC_NR(AI_DUMP)] = {
		.size = sizeof(struct ai_dump),
		.min_size = AI_DUMP_SIZE_VER0,
		.copy_back = true,
		.copy_on_error = true,
		.handler = ai_ioctl_dump_entry,
	},
	[_IOC_NR(AI_EXPORT)] = {
		.size = sizeof(struct ai_export),
		.min_size = AI_EXPORT_SIZE_VER0,
		.flags = AI_EXPORT_READ_ONLY,
		.copy_back = true,
		.handler = ai_ioctl_export_entry,
	},
	[_IOC_NR(AI_IMPORT)] = {
		.size = sizeof(struct ai_import),
		.min_size = AI_IMPORT_SIZE_VER0,
		.copy_back = true,
		.handler = ai_ioctl_import_entry,
		.undo = ai_undo_import_entry,
	},
	[_IOC_NR(AI_SYNC)] = {
		.size = sizeof(struct ai_sync),
		.min_size = AI_SYNC_SIZE_VER0,
		.flags = AI_SYNC_READ | AI_SYNC_WRITE | AI_SYNC_END,
		.handler = ai_ioctl_sync_entry,
	},
};

static int ai_call_read(struct ai_call *call, const struct ai_command *command,
			union ai_args *args, void __user *user, u32 size)
{
	int ret;

	/*
	 * The head comes first and alone, so that a call whose size is wrong
	 * gets its sentence, too.
	 */
	if (size >= sizeof(args->hdr)) {
		if (copy_from_user(&args->hdr, user, sizeof(args->hdr)))
			return -EFAULT;
		call->error = args->hdr.error;
		call->error_len = args->hdr.error_len;
	}
	if (size < command->min_size)
		return ai_fail(call, -EINVAL, "size is %u bytes, this call takes at least %u",
			       size, command->min_size);

	if (size > PAGE_SIZE)
		return ai_fail(call, -E2BIG, "size is %u bytes, no argument has more than %lu",
			       size, PAGE_SIZE);

	ret = copy_struct_from_user(args, command->size, user, size);
	if (ret == -E2BIG)
		return ai_fail(call, ret,
			       "size is %u bytes and bytes past the %u that this kernel knows are not zero",
			       size, command->size);
	if (ret)
		return ret;

	/* The caller may have changed its memory meanwhile: what was read first holds. */
	args->hdr.size = size;
	args->hdr.error = call->error;
	args->hdr.error_len = call->error_len;

	if (args->hdr.flags & ~command->flags)
		return ai_fail(call, -EINVAL, "flags are 0x%x, this call takes no bits but 0x%x",
			       args->hdr.flags, command->flags);
	if (args->hdr.reserved)
		return ai_fail(call, -EINVAL, "reserved field of the head is 0x%x, it must be 0",
			       args->hdr.reserved);
	return 0;
}

/* The result has been delivered, or has not: so has what came with it. */
static void ai_call_settle_fd(struct ai_call *call, int error)
{
	if (!call->new_file)
		return;
	if (error) {
		put_unused_fd(call->new_fd);
		fput(call->new_file);
	} else {
		fd_install(call->new_fd, call->new_file);
	}
}

static long ai_call_run(struct ai_call *call, const struct ai_command *command,
			void __user *user)
{
	union ai_args args;
	u32 size;
	int ret;

	if (get_user(size, (u32 __user *)user))
		return -EFAULT;

	ret = ai_call_read(call, command, &args, user, size);
	if (!ret) {
		ret = command->handler(call, &args);
		if (command->copy_back && (!ret || command->copy_on_error) &&
		    copy_to_user(user + sizeof(args.hdr), (u8 *)&args + sizeof(args.hdr),
				 min_t(u32, size, command->size) - sizeof(args.hdr))) {
			if (!ret && command->undo)
				command->undo(call, &args);
			ret = ai_fail(call, -EFAULT,
				      "the result cannot be written to the argument");
		}
		ai_call_settle_fd(call, ret);
	}
	if (ret)
		ai_call_send_message(call, ret);
	kfree(call->message);
	return ret;
}

/* The size in the number varies with the caller's header, all else is fixed. */
static const struct ai_command *ai_call_command(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != AI_IOC_MAGIC || _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE) ||
	    nr >= ARRAY_SIZE(ai_commands))
		return NULL;
	return &ai_commands[array_index_nospec(nr, ARRAY_SIZE(ai_commands))];
}

/* On /dev/ai0. */
long ai_call_dispatch(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct ai_call call = { .file = filp->private_data, .filp = filp };
	const struct ai_command *command = ai_call_command(cmd);

	if (!command || command->not_of_node)
		return -ENOTTY;
	return ai_call_run(&call, command, (void __user *)arg);
}

/* On the descriptor of a contract. */
long ai_call_contract(struct file *filp, unsigned int cmd, unsigned long arg)
{
	const struct ai_command *command = ai_call_command(cmd);
	struct ai_call call = { .filp = filp };

	if (!command || !command->of_contract)
		return -ENOTTY;
	return ai_call_run(&call, command, (void __user *)arg);
}
