// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/ai/gpt: the global page table, a region a line.
 * /sys/kernel/debug/ai/models: the models, one a line.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "ai_memory.h"

static struct dentry *ai_debugfs_root;

static void *ai_gpt_seq_start(struct seq_file *seq, loff_t *pos)
{
	u64 *cursor = seq->private;

	if (!*pos) {
		*cursor = 0;
		return SEQ_START_TOKEN;
	}
	return ai_gpt_next(cursor);
}

static void *ai_gpt_seq_next(struct seq_file *seq, void *v, loff_t *pos)
{
	if (v != SEQ_START_TOKEN)
		ai_region_put(v);
	++*pos;
	return ai_gpt_next(seq->private);
}

static void ai_gpt_seq_stop(struct seq_file *seq, void *v)
{
	struct ai_region *region = v;

	if (!region || v == SEQ_START_TOKEN)
		return;
	/* Not shown yet: the next read begins with it. */
	*(u64 *)seq->private = region->la;
	ai_region_put(region);
}

static const char *ai_origin_name(enum ai_origin origin)
{
	static const char * const names[] = {
		[AI_ORIGIN_ALLOC] = "alloc", [AI_ORIGIN_VIEW] = "view",
		[AI_ORIGIN_DMABUF] = "dma-buf", [AI_ORIGIN_MEMFD] = "memfd",
		[AI_ORIGIN_USER] = "user",
	};

	return names[origin];
}

static const char *ai_cache_name(u32 cache)
{
	switch (cache) {
	case AI_CACHE_CACHED:
		return "cached";
	case AI_CACHE_WRITECOMBINE:
		return "wc";
	default:
		return "-";
	}
}

static int ai_gpt_seq_show(struct seq_file *seq, void *v)
{
	struct ai_region *region = v;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "la                 pages     device  perm  cache  file  refs  mappings  pieces  origin\n");
		return 0;
	}
	seq_printf(seq, "0x%016llx %-9llu %-7s %c%c    %-6s %-5llu %-5u %-9d %-7u %s\n",
		   region->la, region->nr_pages,
		   region->home ? dev_name(&region->home->dev) : "system",
		   region->perm & AI_PERM_READ ? 'r' : '-',
		   region->perm & AI_PERM_WRITE ? 'w' : '-',
		   ai_cache_name(region->cache), region->owner,
		   kref_read(&region->ref) - 1, atomic_read(&region->mappings),
		   region->nr_chunks, ai_origin_name(ai_region_origin(region)));
	return 0;
}

static const struct seq_operations ai_gpt_seq_ops = {
	.start = ai_gpt_seq_start,
	.next = ai_gpt_seq_next,
	.stop = ai_gpt_seq_stop,
	.show = ai_gpt_seq_show,
};

static int ai_gpt_open(struct inode *inode, struct file *filp)
{
	return seq_open_private(filp, &ai_gpt_seq_ops, sizeof(u64));
}

static const struct file_operations ai_gpt_fops = {
	.owner = THIS_MODULE,
	.open = ai_gpt_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

static const char *ai_model_state_name(enum ai_model_state state)
{
	switch (state) {
	case AI_MODEL_COMPILING:
		return "compiling";
	case AI_MODEL_READY:
		return "ready";
	default:
		return "failed";
	}
}

static const char *ai_precision_name(u32 precision)
{
	static const char * const names[] = {
		[AI_PRECISION_NONE] = "none", [AI_PRECISION_INT4] = "int4",
		[AI_PRECISION_INT8] = "int8", [AI_PRECISION_FP8] = "fp8",
		[AI_PRECISION_BF16] = "bf16", [AI_PRECISION_FP16] = "fp16",
		[AI_PRECISION_FP32] = "fp32", [AI_PRECISION_FP64] = "fp64",
	};

	return precision < ARRAY_SIZE(names) ? names[precision] : "unknown";
}

static void ai_models_show_one(struct seq_file *seq, struct ai_model *model)
{
	enum ai_model_state state;
	u64 compile_ns;
	bool cached;

	spin_lock_irq(&model->lock);
	state = model->state;
	cached = model->cached;
	compile_ns = model->compile_ns;
	spin_unlock_irq(&model->lock);
	seq_printf(seq,
		   "%-5llu %-7s %-9s %-9s %-11llu %-8lld %-6u %-11llu %-11llu %-7u %s\n",
		   model->id, dev_name(&model->adev->dev), ai_model_state_name(state),
		   ai_precision_name(model->precision), model->bytes, atomic64_read(&model->jobs),
		   cached, compile_ns, READ_ONCE(model->longest_ns), model->version, model->name);
}

static int ai_models_show(struct seq_file *seq, void *v)
{
	struct ai_device *adev;
	struct ai_model *model;
	u32 next = 1;

	/* The name is last: it may have blanks. */
	seq_puts(seq, "id    device  state     precision bytes       jobs     cached compile_ns  longest_ns  version name\n");
	while (next < AI_MAX_DEVICES && (adev = ai_device_next(next))) {
		mutex_lock(&adev->objects_lock);
		list_for_each_entry(model, &adev->models, node)
			ai_models_show_one(seq, model);
		mutex_unlock(&adev->objects_lock);
		next = adev->id + 1;
		ai_device_put(adev);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ai_models);

void ai_debugfs_init(void)
{
	ai_debugfs_root = debugfs_create_dir("ai", NULL);
	debugfs_create_file("gpt", 0400, ai_debugfs_root, NULL, &ai_gpt_fops);
	debugfs_create_file("models", 0400, ai_debugfs_root, NULL, &ai_models_fops);
}

void ai_debugfs_exit(void)
{
	debugfs_remove(ai_debugfs_root);
}
