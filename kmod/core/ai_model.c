// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models: a named, versioned artefact on a device.
 *
 * The kernel keeps its own copy of the artefact, which never changes: a device
 * that lost it in a reset can be given it again.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ai_internal.h"

static atomic64_t ai_model_ids = ATOMIC64_INIT(0);

static const struct {
	const char *name;
	u32 bytes;
} ai_dtypes[] = {
	[AI_DTYPE_FLOAT] = { "float32", 4 },
	[AI_DTYPE_UINT8] = { "uint8", 1 },
	[AI_DTYPE_INT8] = { "int8", 1 },
	[AI_DTYPE_UINT16] = { "uint16", 2 },
	[AI_DTYPE_INT16] = { "int16", 2 },
	[AI_DTYPE_INT32] = { "int32", 4 },
	[AI_DTYPE_INT64] = { "int64", 8 },
	[AI_DTYPE_STRING] = { "string", 0 },
	[AI_DTYPE_BOOL] = { "bool", 1 },
	[AI_DTYPE_FLOAT16] = { "float16", 2 },
	[AI_DTYPE_DOUBLE] = { "float64", 8 },
	[AI_DTYPE_UINT32] = { "uint32", 4 },
	[AI_DTYPE_UINT64] = { "uint64", 8 },
	[AI_DTYPE_COMPLEX64] = { "complex64", 8 },
	[AI_DTYPE_COMPLEX128] = { "complex128", 16 },
	[AI_DTYPE_BFLOAT16] = { "bfloat16", 2 },
};

bool ai_dtype_known(u32 dtype)
{
	return dtype && dtype < ARRAY_SIZE(ai_dtypes);
}

u32 ai_dtype_bytes(u32 dtype)
{
	return ai_dtype_known(dtype) ? ai_dtypes[dtype].bytes : 0;
}
EXPORT_SYMBOL_GPL(ai_dtype_bytes);

const char *ai_dtype_name(u32 dtype)
{
	return ai_dtype_known(dtype) ? ai_dtypes[dtype].name : "unknown";
}

static void ai_model_release_work(struct work_struct *work)
{
	struct ai_model *model = container_of(work, struct ai_model, release_work);
	struct ai_device *adev = model->adev;

	mutex_lock(&model->op_lock);
	if (model->sent)
		adev->ops->model_unload(adev, model);
	model->sent = false;
	mutex_unlock(&model->op_lock);

	mutex_lock(&adev->objects_lock);
	list_del(&model->node);
	mutex_unlock(&adev->objects_lock);

	ai_region_put(model->artefact);
	mutex_destroy(&model->op_lock);
	kvfree(model->io);
	kfree(model);
	ai_device_put(adev);
}

static void ai_model_release(struct kref *ref)
{
	struct ai_model *model = container_of(ref, struct ai_model, ref);

	queue_work(ai_wq, &model->release_work);
}

/* Any context. */
void ai_model_put(struct ai_model *model)
{
	if (model)
		kref_put(&model->ref, ai_model_release);
}

/* The device goes and has no jobs. */
void ai_device_detach_models(struct ai_device *adev)
{
	struct ai_model *model;

	mutex_lock(&adev->objects_lock);
	list_for_each_entry(model, &adev->models, node) {
		mutex_lock(&model->op_lock);
		if (model->sent)
			adev->ops->model_unload(adev, model);
		model->sent = false;
		mutex_unlock(&model->op_lock);
		ai_model_loaded(model, -ENODEV, "the device was removed", NULL, 0, 0, 0, false);
	}
	mutex_unlock(&adev->objects_lock);
}

/* What a device says of a model is not to be trusted. */
static bool ai_model_io_valid(struct ai_tensor_info *io, u32 nr_inputs, u32 nr_outputs)
{
	u32 i, j;

	if (nr_inputs > AI_MAX_TENSORS || nr_outputs > AI_MAX_TENSORS || !nr_outputs || !io)
		return false;
	for (i = 0; i < nr_inputs + nr_outputs; i++) {
		u32 rank = io[i].rank == AI_RANK_ANY ? 0 : io[i].rank;

		if (!ai_dtype_known(io[i].dtype) || rank > AI_MAX_DIMS)
			return false;
		for (j = 0; j < AI_MAX_DIMS; j++) {
			if (j >= rank)
				io[i].dims[j] = 0;
			else if (io[i].dims[j] < -1)
				return false;
		}
		io[i].name[AI_TENSOR_NAME_LEN - 1] = '\0';
	}
	return true;
}

void ai_model_loaded(struct ai_model *model, int error, const char *reason,
		     struct ai_tensor_info *io, u32 nr_inputs, u32 nr_outputs,
		     u64 compile_ns, bool cached)
{
	struct ai_tensor_info *unused = io;
	unsigned long flags;

	if (!error && !ai_model_io_valid(io, nr_inputs, nr_outputs)) {
		error = -EIO;
		reason = "the device describes inputs and outputs that cannot be";
	}

	spin_lock_irqsave(&model->lock, flags);
	if (error) {
		model->state = AI_MODEL_FAILED;
		model->error = error;
		strscpy(model->reason, reason ?: "the device gave no reason");
	} else {
		/* A reload describes the same model: calls may be reading the first one. */
		if (!model->io) {
			model->io = io;
			model->nr_inputs = nr_inputs;
			model->nr_outputs = nr_outputs;
			model->compile_ns = compile_ns;
			model->cached = cached;
			unused = NULL;
		}
		model->state = AI_MODEL_READY;
		model->error = 0;
		model->reason[0] = '\0';
	}
	spin_unlock_irqrestore(&model->lock, flags);
	complete_all(&model->loaded);
	kvfree(unused);
}
EXPORT_SYMBOL_GPL(ai_model_loaded);

static int ai_model_load_check(struct ai_call *call, struct ai_model_load *arg)
{
	if (arg->precision > AI_PRECISION_FP64)
		return ai_fail(call, -EINVAL, "precision is %u, the highest known is %u",
			       arg->precision, AI_PRECISION_FP64);
	if (arg->format != AI_FORMAT_ONNX)
		return ai_fail(call, -EOPNOTSUPP, "format is %u, only AI_FORMAT_ONNX (%u) is known",
			       arg->format, AI_FORMAT_ONNX);
	if (!arg->bytes)
		return ai_fail(call, -EINVAL, "bytes is 0, the model has at least 1");
	if (arg->bytes > AI_MAX_MODEL_BYTES)
		return ai_fail(call, -EFBIG, "bytes is %llu, a model has at most %llu",
			       arg->bytes, AI_MAX_MODEL_BYTES);
	/* A look at both ends finds most mistakes before memory is allocated. */
	if (!access_ok(u64_to_user_ptr(arg->data), arg->bytes) ||
	    fault_in_readable(u64_to_user_ptr(arg->data), 1) ||
	    fault_in_readable(u64_to_user_ptr(arg->data + arg->bytes - 1), 1))
		return ai_fail(call, -EFAULT,
			       "data is 0x%llx, no %llu bytes of the caller are there",
			       arg->data, arg->bytes);
	if (arg->timeout_ns < 0)
		return ai_fail(call, -EINVAL, "timeout_ns is %lld, it is a point in time after 0",
			       arg->timeout_ns);
	if (arg->timeout_ns && arg->timeout_ns <= ktime_get_ns())
		return ai_fail(call, -ETIME, "timeout_ns is %lld, which has passed",
			       arg->timeout_ns);
	return ai_check_name(call, arg->name, sizeof(arg->name));
}

static struct ai_device *ai_model_device(struct ai_call *call, u32 device)
{
	struct ai_device *adev;

	if (device == AI_DEVICE_ANY) {
		adev = ai_device_choose(AI_DEVICE_F_MODELS);
		return adev ?: ERR_PTR(ai_fail(call, -ENODEV,
					       "no device that runs models is there and works"));
	}
	adev = ai_device_lookup(device);
	if (!adev)
		return ERR_PTR(ai_fail(call, -ENOENT, "device is %u, no such device is registered",
				       device));
	if (!(adev->properties & AI_DEVICE_F_MODELS)) {
		ai_fail(call, -EOPNOTSUPP, "device is %u, %s runs no models", device,
			dev_name(&adev->dev));
		ai_device_put(adev);
		return ERR_PTR(-EOPNOTSUPP);
	}
	return adev;
}

/* Under &ai_file.models_lock: 0, or -EEXIST. */
static int ai_model_version(struct ai_file *file, struct ai_model *model)
{
	struct ai_model *other;
	unsigned long index;
	bool taken = false;
	u32 highest = 0;

	/* What is in there has its handle's reference until it is taken out. */
	xa_lock(&file->models);
	xa_for_each(&file->models, index, other) {
		if (strcmp(other->name, model->name))
			continue;
		taken |= other->version == model->version;
		highest = max(highest, other->version);
	}
	xa_unlock(&file->models);
	if (taken)
		return -EEXIST;
	if (!model->version) {
		if (highest == U32_MAX)
			return -EEXIST;
		model->version = highest + 1;
	}
	return 0;
}

/*
 * A handle is given before the device has the model, so that two loads of one
 * version cannot both succeed. Calls that use it find the state.
 */
static int ai_model_add_handle(struct ai_call *call, struct ai_model *model)
{
	struct ai_file *file = call->file;
	int ret;

	/* Makes the check and the insertion one step. */
	if (mutex_lock_killable(&file->models_lock))
		return ai_fail(call, -EINTR, "a fatal signal ended the call");
	ret = ai_model_version(file, model);
	if (!ret) {
		kref_get(&model->ref);
		/* A handle comes back late: who kept one that is gone finds no other model. */
		ret = xa_alloc_cyclic(&file->models, &model->handle, model, xa_limit_31b,
				      &file->next_model, GFP_KERNEL_ACCOUNT);
		if (ret < 0)
			ai_model_put(model);
		else
			ret = 0;
	}
	mutex_unlock(&file->models_lock);

	if (ret == -EEXIST)
		return ai_fail(call, ret, "version is %u, %s has that version loaded already",
			       model->version, model->name);
	if (ret)
		return ai_fail(call, ret, "the system has no memory for a handle");
	return 0;
}

static struct ai_model *ai_model_create(struct ai_call *call, struct ai_device *adev,
					struct ai_model_load *arg)
{
	struct ai_model *model = kzalloc(sizeof(*model), GFP_KERNEL_ACCOUNT);
	struct ai_region *artefact;
	int ret;

	if (!model)
		return ERR_PTR(ai_fail(call, -ENOMEM, "the system has no memory for a model"));
	artefact = ai_region_create(call, NULL, arg->bytes, AI_PERM_READ, AI_CACHE_CACHED, 0);
	if (IS_ERR(artefact)) {
		kfree(model);
		return ERR_CAST(artefact);
	}
	ret = ai_region_copy_from_user(artefact, arg->data, arg->bytes);
	if (ret) {
		if (ret == -EINTR)
			ai_fail(call, ret, "a fatal signal ended the copy of the model");
		else
			ai_fail(call, ret, "data is 0x%llx, no %llu bytes of the caller are there",
				arg->data, arg->bytes);
		ai_region_put(artefact);
		kfree(model);
		return ERR_PTR(ret);
	}

	model->adev = ai_device_get(adev);
	model->id = atomic64_inc_return(&ai_model_ids);
	strscpy(model->name, arg->name);
	model->version = arg->version;
	model->precision = arg->precision;
	model->artefact = artefact;
	model->bytes = arg->bytes;
	kref_init(&model->ref);
	INIT_WORK(&model->release_work, ai_model_release_work);
	mutex_init(&model->op_lock);
	spin_lock_init(&model->lock);
	init_completion(&model->loaded);

	mutex_lock(&adev->objects_lock);
	list_add(&model->node, &adev->models);
	mutex_unlock(&adev->objects_lock);
	return model;
}

static int ai_model_send(struct ai_model *model, ktime_t until)
{
	struct ai_device *adev = model->adev;
	int ret, idx;

	do {
		ret = ai_device_wait_ready(adev, until);
		if (ret)
			return ret;
		if (!ai_device_enter(adev, &idx))
			return -ENODEV;
		mutex_lock(&model->op_lock);
		ret = adev->ops->model_load(adev, model);
		model->sent = !ret;
		mutex_unlock(&model->op_lock);
		ai_device_exit(adev, idx);
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * ai_model_error() - why a model cannot be used
 * @model: the model
 * @reason: set to the sentence if it failed; %AI_ERROR_LEN bytes
 *
 * Return: 0, -EAGAIN while it is being compiled, or what it failed with.
 */
static int ai_model_error(struct ai_model *model, char *reason)
{
	int ret = 0;

	spin_lock_irq(&model->lock);
	if (model->state == AI_MODEL_FAILED) {
		ret = model->error;
		strscpy(reason, model->reason, AI_ERROR_LEN);
	} else if (model->state == AI_MODEL_COMPILING) {
		ret = -EAGAIN;
	}
	spin_unlock_irq(&model->lock);
	return ret;
}

/* Whether it can be used; @handle is what the caller calls it. */
int ai_model_ready(struct ai_call *call, struct ai_model *model, u32 handle)
{
	char reason[AI_ERROR_LEN];
	int error = ai_model_error(model, reason);

	if (error == -EAGAIN)
		return ai_fail(call, error, "model %u (%s) is still being compiled by %s", handle,
			       model->name, dev_name(&model->adev->dev));
	if (error)
		return ai_fail(call, error, "model %u (%s) failed: %s", handle, model->name,
			       reason);
	return 0;
}

static int ai_model_wait(struct ai_call *call, struct ai_model *model, ktime_t until)
{
	char reason[AI_ERROR_LEN];
	long left;
	int ret;

	do {
		left = wait_for_completion_killable_timeout(&model->loaded,
							    ai_jiffies_until(until));
	} while (!left && ai_time_left(until));
	if (left < 0)
		return ai_fail(call, -EINTR, "a fatal signal ended the wait for the model");
	if (!left && !completion_done(&model->loaded))
		return ai_fail(call, -ETIME,
			       "%s had not made the model ready when timeout_ns passed",
			       dev_name(&model->adev->dev));

	ret = ai_model_error(model, reason);
	if (ret)
		return ai_fail(call, ret, "%s: %s", dev_name(&model->adev->dev), reason);
	return 0;
}

int ai_ioctl_model_load(struct ai_call *call, struct ai_model_load *arg)
{
	struct ai_device *adev;
	struct ai_model *model;
	int ret;

	ret = ai_model_load_check(call, arg);
	if (ret)
		return ret;
	adev = ai_model_device(call, arg->device);
	if (IS_ERR(adev))
		return PTR_ERR(adev);
	model = ai_model_create(call, adev, arg);
	if (IS_ERR(model)) {
		ret = PTR_ERR(model);
		goto put_device;
	}
	ret = ai_model_add_handle(call, model);
	if (ret)
		goto put_model;

	ret = ai_model_send(model, arg->timeout_ns);
	if (ret)
		ai_device_fail(call, adev, ret, "has not taken the model");
	else if (!(arg->hdr.flags & AI_MODEL_NOWAIT))
		ret = ai_model_wait(call, model, arg->timeout_ns);
	if (ret) {
		/* Unless the caller unloaded it from another thread meanwhile. */
		if (xa_cmpxchg(&call->file->models, model->handle, model, NULL, 0) == model)
			ai_model_put(model);
		goto put_model;
	}

	arg->model = model->handle;
	arg->version = model->version;
	arg->device = adev->id;
	spin_lock_irq(&model->lock);
	arg->nr_inputs = model->nr_inputs;
	arg->nr_outputs = model->nr_outputs;
	arg->cached = model->cached;
	arg->compile_ns = model->compile_ns;
	spin_unlock_irq(&model->lock);
put_model:
	ai_model_put(model);
put_device:
	ai_device_put(adev);
	return ret;
}

/* The caller never learned of what it was given. */
void ai_undo_model_load(struct ai_call *call, struct ai_model_load *arg)
{
	ai_model_put(xa_erase(&call->file->models, arg->model));
}

/**
 * ai_model_lookup() - the model behind a handle of the caller
 * @call: the call
 * @handle: the handle
 *
 * Return: the model with a reference, in whatever state, or an error pointer.
 */
struct ai_model *ai_model_lookup(struct ai_call *call, u32 handle)
{
	struct ai_model *model;

	xa_lock(&call->file->models);
	model = xa_load(&call->file->models, handle);
	if (model)
		kref_get(&model->ref);
	xa_unlock(&call->file->models);
	return model ?: ERR_PTR(ai_fail(call, -ENOENT,
					"model is %u, this file has no such model", handle));
}

int ai_ioctl_model_unload(struct ai_call *call, struct ai_model_unload *arg)
{
	struct ai_model *model;

	if (arg->reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", arg->reserved);
	model = xa_erase(&call->file->models, arg->model);
	if (!model)
		return ai_fail(call, -ENOENT, "model is %u, this file has no such model",
			       arg->model);
	ai_model_put(model);
	return 0;
}

int ai_ioctl_model_info(struct ai_call *call, struct ai_model_info *arg)
{
	struct ai_model *model = ai_model_lookup(call, arg->model);
	const struct ai_tensor_info *io;
	int ret = 0;
	u32 count;

	if (IS_ERR(model))
		return PTR_ERR(model);

	arg->version = model->version;
	arg->device = model->adev->id;
	arg->bytes = model->bytes;
	arg->precision = model->precision;
	arg->reserved = 0;
	arg->jobs = atomic64_read(&model->jobs);
	strscpy_pad(arg->name, model->name);
	spin_lock_irq(&model->lock);
	arg->state = model->state;
	arg->nr_inputs = model->nr_inputs;
	arg->nr_outputs = model->nr_outputs;
	arg->cached = model->cached;
	arg->compile_ns = model->compile_ns;
	strscpy_pad(arg->reason, model->reason);
	io = model->io;
	spin_unlock_irq(&model->lock);

	/* Set once, goes with the model. */
	count = min(arg->capacity, arg->nr_inputs + arg->nr_outputs);
	if (count && copy_to_user(u64_to_user_ptr(arg->tensors), io, count * sizeof(*io)))
		ret = ai_fail(call, -EFAULT,
			      "tensors is 0x%llx, no %u elements of the caller are there",
			      arg->tensors, count);
	ai_model_put(model);
	return ret;
}

void ai_file_release_models(struct ai_file *file)
{
	struct ai_model *model;
	unsigned long index;

	xa_for_each(&file->models, index, model)
		ai_model_put(model);
	xa_destroy(&file->models);
}
