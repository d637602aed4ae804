// SPDX-License-Identifier: GPL-2.0-only
/*
 * Import: a range of logical addresses for pages that are somebody's already.
 *
 * A dma-buf that was made here leads back to its region: whole, it is that region, which
 * becomes a handle of one more open file; else a view, a region with an address of its
 * own that keeps the other one. So nothing is ever an import of itself.
 */
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "ai_memory.h"

/* Undo what made a region with a source; ai_region_free() calls it. */
void ai_source_release(struct ai_region *region)
{
	struct ai_source *source = region->source;

	switch (source->origin) {
	case AI_ORIGIN_VIEW:
		ai_region_put(source->parent);
		break;
	case AI_ORIGIN_DMABUF:
		if (iosys_map_is_set(&source->vmap))
			dma_buf_vunmap_unlocked(source->dmabuf, &source->vmap);
		dma_buf_put(source->dmabuf);
		break;
	default:
		ai_unpin(region);
		break;
	}
	kfree(source);
}

static struct ai_region *ai_import_region(struct ai_call *call, struct ai_device *home,
					  u64 pages, u32 perm, enum ai_origin origin)
{
	struct ai_source *source = kzalloc(sizeof(*source), GFP_KERNEL_ACCOUNT);
	struct ai_region *region = NULL;

	if (source)
		region = ai_region_new(home, pages << PAGE_SHIFT, perm, AI_CACHE_CACHED,
				       call->file->id);
	if (!region) {
		kfree(source);
		ai_fail(call, -ENOMEM, "the system has no memory for a region");
		return NULL;
	}
	source->origin = origin;
	region->source = source;
	return region;
}

/* ---- dma-bufs ---- */

/* Of what @fd is, the part that is asked for. */
static int ai_import_part(struct ai_call *call, const struct ai_import *arg, u64 size,
			  u64 *first, u64 *pages)
{
	if (arg->offset >= size || arg->bytes > size - arg->offset)
		return ai_fail(call, -EINVAL,
			       "offset is %llu and bytes %llu, what fd %d is has %llu bytes",
			       arg->offset, arg->bytes, arg->fd, size);
	if (!PAGE_ALIGNED(size))
		return ai_fail(call, -EINVAL, "fd %d has %llu bytes, a multiple of %lu is needed",
			       arg->fd, size, PAGE_SIZE);
	*first = arg->offset >> PAGE_SHIFT;
	*pages = (arg->bytes ?: size - arg->offset) >> PAGE_SHIFT;
	if (*pages > AI_GPT_MAX_PAGES)
		return ai_fail(call, -EFBIG, "%llu bytes are to be imported, the most is %llu",
			       *pages << PAGE_SHIFT, AI_GPT_MAX_PAGES << PAGE_SHIFT);
	return 0;
}

/* The chunks of the part of @parent that begins with its page @first. */
static int ai_view_fill(struct ai_region *region, const struct ai_region *parent, u64 first)
{
	u32 capacity = 1;
	u64 done = 0;
	int ret = 0;

	while (!ret && done < region->nr_pages) {
		const struct ai_chunk *chunk = ai_region_chunk(parent, first + done);
		u64 skip = first + done - chunk->start;
		u64 nr = min_t(u64, chunk->nr - skip, region->nr_pages - done);

		ret = ai_region_add_chunk(region, &capacity, chunk->pfn + skip, done, nr);
		done += nr;
	}
	return ret;
}

static struct ai_region *ai_import_view(struct ai_call *call, struct ai_region *of, u64 first,
					u64 pages, u32 perm, bool read_only)
{
	struct ai_region *region, *parent = of;
	int ret;

	if (ai_region_origin(of) == AI_ORIGIN_VIEW) {
		parent = of->source->parent;
		first += of->source->first;
	}
	region = ai_import_region(call, of->home, pages, perm, AI_ORIGIN_VIEW);
	if (!region)
		return ERR_PTR(-ENOMEM);
	kref_get(&parent->ref);
	region->source->parent = parent;
	region->source->first = first;
	region->source->read_only = read_only;
	region->cache = of->cache;
	ret = ai_view_fill(region, parent, first);
	if (ret)
		ret = ai_fail(call, ret, "the system has no memory for a region");
	return ai_region_publish(call, region, ret);
}

/* One that was made here; @first and @pages are inside it. */
static struct ai_region *ai_import_own(struct ai_call *call, const struct ai_import *arg,
				       struct ai_dmabuf *export, u64 first, u64 pages)
{
	struct ai_region *region = export->region;
	bool read_only = export->read_only || ai_region_read_only(region);

	if (arg->perm & ~region->perm)
		return ERR_PTR(ai_fail(call, -EACCES,
				       "perm is 0x%x, the range was allocated with 0x%x",
				       arg->perm, region->perm));
	if (read_only && arg->perm & AI_PERM_WRITE)
		return ERR_PTR(ai_fail(call, -EACCES,
				       "perm is 0x%x, but fd %d is read-only: only AI_PERM_READ is possible",
				       arg->perm, arg->fd));
	first += export->first;
	if (first || pages != region->nr_pages || arg->perm != region->perm ||
	    read_only != ai_region_read_only(region))
		return ai_import_view(call, region, first, pages, arg->perm, read_only);
	kref_get(&region->ref);
	return region;
}

static struct ai_region *ai_import_foreign(struct ai_call *call, const struct ai_import *arg,
					   struct dma_buf *dmabuf, u64 first, u64 pages)
{
	bool read_only = !(dmabuf->file->f_mode & FMODE_WRITE);
	struct ai_region *region;

	if (read_only && arg->perm & AI_PERM_WRITE)
		return ERR_PTR(ai_fail(call, -EACCES,
				       "perm is 0x%x, but fd %d, a dma-buf of %s, is read-only: only AI_PERM_READ is possible",
				       arg->perm, arg->fd, dmabuf->exp_name));
	region = ai_import_region(call, NULL, pages, arg->perm, AI_ORIGIN_DMABUF);
	if (!region)
		return ERR_PTR(-ENOMEM);
	get_dma_buf(dmabuf);
	region->source->dmabuf = dmabuf;
	region->source->first = first;
	region->source->read_only = read_only;
	region->cache = AI_CACHE_DEFAULT;
	return ai_region_publish(call, region, 0);
}

static struct ai_region *ai_import_dmabuf(struct ai_call *call, const struct ai_import *arg,
					  struct dma_buf *dmabuf)
{
	struct ai_dmabuf *export = ai_export_of(dmabuf);
	u64 first, pages;
	int ret;

	ret = ai_import_part(call, arg, dmabuf->size, &first, &pages);
	if (ret)
		return ERR_PTR(ret);
	if (export)
		return ai_import_own(call, arg, export, first, pages);
	return ai_import_foreign(call, arg, dmabuf, first, pages);
}

/* ---- memfd and memory of the caller ---- */

static struct ai_region *ai_import_memfd(struct ai_call *call, const struct ai_import *arg,
					 struct file *file)
{
	struct ai_region *region;
	u64 first, pages;
	int ret;

	ret = ai_import_part(call, arg, i_size_read(file_inode(file)), &first, &pages);
	if (ret)
		return ERR_PTR(ret);
	region = ai_import_region(call, NULL, pages, arg->perm, AI_ORIGIN_MEMFD);
	if (!region)
		return ERR_PTR(-ENOMEM);
	return ai_region_publish(call, region, ai_pin_memfd(call, region, file, arg->offset));
}

static struct ai_region *ai_import_user(struct ai_call *call, const struct ai_import *arg)
{
	struct ai_region *region;
	u64 end;

	if (!arg->bytes || !PAGE_ALIGNED(arg->address))
		return ERR_PTR(ai_fail(call, -EINVAL,
				       "address is 0x%llx and bytes %llu, multiples of %lu above 0 are needed",
				       arg->address, arg->bytes, PAGE_SIZE));
	if (check_add_overflow(arg->address, arg->bytes, &end) || end > TASK_SIZE_MAX)
		return ERR_PTR(ai_fail(call, -EFAULT,
				       "address is 0x%llx and bytes %llu, which leads beyond the addresses of a process",
				       arg->address, arg->bytes));
	if (arg->bytes > AI_GPT_MAX_PAGES << PAGE_SHIFT)
		return ERR_PTR(ai_fail(call, -EFBIG,
				       "bytes is %llu, at most %llu can be imported at once",
				       arg->bytes, AI_GPT_MAX_PAGES << PAGE_SHIFT));
	region = ai_import_region(call, NULL, arg->bytes >> PAGE_SHIFT, arg->perm,
				  AI_ORIGIN_USER);
	if (!region)
		return ERR_PTR(-ENOMEM);
	return ai_region_publish(call, region, ai_pin_user(call, region, arg->address));
}

/* ---- the call ---- */

static struct ai_region *ai_import_fd(struct ai_call *call, const struct ai_import *arg)
{
	struct ai_region *region;
	struct dma_buf *dmabuf;
	struct file *file;

	dmabuf = dma_buf_get(arg->fd);
	if (!IS_ERR(dmabuf)) {
		region = ai_import_dmabuf(call, arg, dmabuf);
		dma_buf_put(dmabuf);
		return region;
	}
	file = fget(arg->fd);
	if (!file)
		return ERR_PTR(ai_fail(call, -EBADF, "fd is %d, no such file is open", arg->fd));
	if (ai_file_is_memfd(file))
		region = ai_import_memfd(call, arg, file);
	else
		region = ERR_PTR(ai_fail(call, -EINVAL,
					 "fd %d is neither a dma-buf nor a memfd", arg->fd));
	fput(file);
	return region;
}

static int ai_import_check(struct ai_call *call, const struct ai_import *arg)
{
	if (arg->kind > AI_IMPORT_USER)
		return ai_fail(call, -EINVAL, "kind is %u, the highest value is %u", arg->kind,
			       AI_IMPORT_USER);
	if (!arg->perm || arg->perm & ~(AI_PERM_READ | AI_PERM_WRITE))
		return ai_fail(call, -EINVAL,
			       "perm is 0x%x, it takes AI_PERM_READ, AI_PERM_WRITE or both",
			       arg->perm);
	if (!PAGE_ALIGNED(arg->offset) || !PAGE_ALIGNED(arg->bytes))
		return ai_fail(call, -EINVAL,
			       "offset is %llu and bytes %llu, multiples of %lu are needed",
			       arg->offset, arg->bytes, PAGE_SIZE);
	if (arg->kind == AI_IMPORT_FD && arg->address)
		return ai_fail(call, -EINVAL, "address is 0x%llx, with AI_IMPORT_FD it must be 0",
			       arg->address);
	if (arg->kind == AI_IMPORT_USER && (arg->fd || arg->offset))
		return ai_fail(call, -EINVAL,
			       "fd is %d and offset %llu, with AI_IMPORT_USER they must be 0",
			       arg->fd, arg->offset);
	return 0;
}

int ai_ioctl_import(struct ai_call *call, struct ai_import *arg)
{
	struct ai_region *region;
	int ret;

	ret = ai_import_check(call, arg);
	if (ret)
		return ret;
	region = arg->kind == AI_IMPORT_USER ? ai_import_user(call, arg) : ai_import_fd(call, arg);
	if (IS_ERR(region))
		return PTR_ERR(region);

	arg->bytes = region->nr_pages << PAGE_SHIFT;
	arg->cache = region->cache;
	arg->la = region->la;
	arg->mmap_offset = ai_la_to_va(region->la);
	arg->device = AI_LA_DEVICE(region->la);
	arg->origin = ai_region_origin(region);
	/* From here on another thread may free it. */
	ret = ai_file_add_handle(call->file, region);
	if (ret) {
		ai_fail(call, ret, "the system has no memory for a handle");
		ai_region_put(region);
	}
	return ret;
}

/* The caller never learned of what it was given. */
void ai_undo_import(struct ai_call *call, struct ai_import *arg)
{
	ai_file_close_handle(call->file, arg->la);
}
